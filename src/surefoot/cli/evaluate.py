"""`surefoot evaluate`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.progress import Progress

from surefoot.cli.exit_codes import OK
from surefoot.cli.messages import warnings_as_lines
from surefoot.cli.train import import_from_here
from surefoot.model import load
from surefoot.runs.directory import CONFIG, model_checkpoint, newest_good, read_config
from surefoot.statistics import mean_estimate
from surefoot.errors import UserError


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command."""
    del args
    return _command


def _command(
    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")],
    episodes: int = 100,
    which: Literal["best", "last"] = "best",
    risk_aversion: Annotated[float | None, tyro.conf.arg(metavar="LAMBDA")] = None,
    risk: Annotated[str | None, tyro.conf.arg(metavar="RISK")] = None,
    seed: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None,
) -> Callable[[], int]:
    """Play fresh episodes with a trained agent, without exploring.

    Args:
        run: A run's directory, one of its checkpoints, or a saved model.
        episodes: How many.
        which: Of a run, the model that did best in evaluation, or the last.
        risk_aversion: Aleatoric standard deviations taken off an action's mean, instead of the agent's own.
        risk: The same as text: mean, or mean-sd:LAMBDA.
        seed: Of the episodes; by default the run's, with other episodes than any in training.
    """

    def evaluate() -> int:
        import_from_here()
        with warnings_as_lines():
            path = _chosen(run, which)
        model = load(path)
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("episodes", total=episodes)
            found = model.evaluate(
                episodes,
                seed=seed,
                risk_aversion=risk_aversion,
                risk=risk,
                after_episode=lambda: progress.advance(task),
            )
        returns, lengths = found.returns, found.lengths
        estimate = mean_estimate(returns)
        within = "" if estimate.interval is None else " ({:.4g} to {:.4g}, 95 %)".format(*estimate.interval)
        console = Console(highlight=False, soft_wrap=True)
        what = f"{model.spec.env}, {model.spec.agent}, {episodes} episodes"
        console.print(f"{path}: {what}", markup=False)
        console.print(
            f"return: mean {found.mean:.4g}{within}, sd {np.std(returns):.4g}, "
            f"worst {returns.min():.4g}, best {returns.max():.4g}"
        )
        console.print(f"length: mean {lengths.mean():.4g}, shortest {lengths.min()}, longest {lengths.max()}")
        return OK

    return evaluate


def _chosen(run: Path, which: str) -> Path:
    if not (run / CONFIG).is_file():
        return run
    read_config(run)
    found = model_checkpoint(run) if which == "best" else newest_good(run).path
    if found is None:
        raise UserError(f"{run}: no checkpoint yet, accepted: a run that has one")
    return found
