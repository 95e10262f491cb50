"""`surefoot evaluate`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.progress import Progress

from surefoot.cli.chosen_checkpoint import chosen_checkpoint
from surefoot.cli.exit_codes import OK
from surefoot.cli.frontier import show_frontier
from surefoot.cli.hand_over import HandOver, changed_env, evaluate_with_hand_over
from surefoot.cli.messages import require_one_risk, warnings_as_lines
from surefoot.cli.train import import_from_working_directory
from surefoot.errors import UserError
from surefoot.model import load
from surefoot.risk.realised import RiskOutcome
from surefoot.statistics import mean_estimate
from surefoot.training.evaluation import MAX_EPISODE_STEPS


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command."""
    del args
    return _command


def _command(
    run: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")],
    episodes: int = 100,
    which: Literal["best", "last"] = "best",
    risk: Annotated[str | None, tyro.conf.arg(metavar="RISK")] = None,
    risk_aversion: Annotated[float | None, tyro.conf.arg(metavar="LAMBDA")] = None,
    seed: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None,
    max_episode_steps: int = MAX_EPISODE_STEPS,
    hand_over: Annotated[float | None, tyro.conf.arg(metavar="BUDGET")] = None,
    fallback: Annotated[str, tyro.conf.arg(metavar="FALLBACK")] = "random",
    env_kwargs: Annotated[str, tyro.conf.arg(metavar="JSON")] = "{}",
    frontier: bool = False,
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None,
) -> Callable[[], int]:
    """Play fresh episodes with a trained agent, without exploring.

    Args:
        run: A run's directory, one of its checkpoints, or a saved model.
        episodes: How many episodes to play.
        which: Of a run, the model that did best in evaluation, or the last.
        risk: Attitude to risk instead of the agent's own: mean, mean-sd:LAMBDA, cvar:ALPHA, wang:ETA,
            entropic:BETA, power:XI, pessimism:KAPPA, or package.module:name. With --frontier, a name alone.
        risk_aversion: Short for --risk mean-sd:LAMBDA.
        seed: Seed of the episodes; by default the run's, with other episodes than any in training.
        max_episode_steps: Steps after which an episode that has not ended is cut off.
        hand_over: Share of the steps, from 0 to 1, to hand over to the fallback: those at which the agent is
            least sure of its action. Episodes are played with and without, over several budgets.
        fallback: Who decides then: random, a run or a saved model, or package.module:function.
        env_kwargs: Keyword arguments of the environment, as a JSON object, that differ from training's.
        frontier: Play the episodes under each degree of an attitude (--risk cvar), from neutral to averse,
            and draw mean return against the risk that was realised.
        out: Directory for the curve of --hand-over, as CSV, PNG and SVG, and for its thresholds; or for the
            frontier's table and figure, which by default go to a new one in evaluations/.
    """

    def evaluate() -> int:
        require_one_risk(risk, risk_aversion)
        if frontier and risk_aversion is not None:
            raise UserError(
                f"--risk-aversion: got {risk_aversion:g} with --frontier, accepted: --risk mean-sd"
            )
        if frontier and hand_over is not None:
            raise UserError(f"--hand-over: got {hand_over:g} with --frontier, accepted: one of the two")
        import_from_working_directory()
        with warnings_as_lines():
            path = chosen_checkpoint(run, which)
        model = load(path)
        env = changed_env(model.spec, env_kwargs)
        if hand_over is not None:
            attitude = None if risk_aversion is None else f"mean-sd:{risk_aversion!r}"
            wanted = (hand_over, fallback, episodes, seed, risk or attitude, max_episode_steps, env, out)
            evaluate_with_hand_over(path, model, HandOver(*wanted))
            return OK
        with Progress(console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task("episodes", total=None if frontier else episodes)
            play: dict[str, Any] = {
                "episodes": episodes,
                "env": env,
                "seed": seed,
                "max_episode_steps": max_episode_steps,
                "after_episode": lambda: progress.advance(task),
            }
            if frontier:
                show_frontier(model, run, risk, out, **play)
                return OK
            found = model.evaluate(**play, risk=risk, risk_aversion=risk_aversion)
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
        console.print(_risk_line(found.risk))
        console.print(f"length: mean {lengths.mean():.4g}, shortest {lengths.min()}, longest {lengths.max()}")
        if found.cut_off.any():
            cut_off = f"{found.cut_off.sum()} of {episodes} episodes"
            console.print(f"cut off: {cut_off} had not ended after {max_episode_steps:,} steps")
        return OK

    return evaluate


def _risk_line(risk: RiskOutcome | None) -> str:
    """What the attitude to risk promised at the start, beside what came of it."""
    assert risk is not None
    discounted = "" if risk.discount == 1 else f", returns discounted by {risk.discount:g}"
    believed, realised = f"believed {risk.believed_mean:.4g} at the start", risk.realised
    if realised is None:
        came = "no realised counterpart: returns do not show what the agent does not know"
    elif realised.interval is None:
        came = f"realised {realised.measured:.4g} (too few episodes for an interval)"
    else:
        came = "realised {:.4g} ({:.4g} to {:.4g}, 95 %)".format(realised.measured, *realised.interval)
    return f"risk {risk.measure:g}: {believed}, {came}{discounted}"
