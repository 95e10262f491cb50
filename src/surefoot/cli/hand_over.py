"""`surefoot evaluate --hand-over`: the same episodes with a fallback and without."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from surefoot.cautious import Cautious
from surefoot.cautious.comparison import BUDGETS, AtBudget, as_table, at_budgets, play_each
from surefoot.cli.console import table_console
from surefoot.cli.train import parse_env_kwargs
from surefoot.envs.resolve import EnvLike, resolve_env
from surefoot.errors import UserError
from surefoot.figures import hand_over as figure
from surefoot.model import Model, load
from surefoot.model_spec import ModelSpec
from surefoot.registry import import_object, is_import_path
from surefoot.results import ResultFiles
from surefoot.runs.provenance import provenance
from surefoot.statistics import Estimate

FILES = ResultFiles("hand_over", ("hand_over",))
"""What is written into the directory given by `--out`, beside the thresholds."""
ACCEPTED = "random, a run or a saved model, or package.module:function"


class HandOver(NamedTuple):
    """What the flags of the command say."""

    budget: float
    fallback: str
    episodes: int
    seed: int | None
    risk: str | None
    max_episode_steps: int
    env: EnvLike | None = None
    """Where the episodes are played, if not where the model was trained."""
    out: Path | None = None


def evaluate_with_hand_over(path: Path, model: Model, wanted: HandOver) -> None:
    """Fit thresholds on held-out episodes, play others with each budget, print and draw what came out."""
    if wanted.out is not None:
        FILES.directory(wanted.out, wanted.out, "", overwrite=False)
    cautious = Cautious(
        model, resolve_fallback(wanted.fallback), budget=wanted.budget, risk=wanted.risk, seed=model.spec.seed
    )
    budgets = {*BUDGETS, wanted.budget}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("episodes", total=wanted.episodes * (1 + len(budgets)))
        common: dict[str, Any] = {
            "seed": wanted.seed,
            "max_episode_steps": wanted.max_episode_steps,
            "after_episode": lambda: progress.advance(task),
        }
        cautious.fit(wanted.episodes, **common)
        results = play_each(at_budgets(cautious, budgets), episodes=wanted.episodes, env=wanted.env, **common)
    console = table_console(highlight=False)
    what = f"{model.spec.env}, {model.spec.agent}, {wanted.episodes} episodes, fallback {wanted.fallback}"
    console.print(f"{path}: {what}", markup=False, soft_wrap=True)
    console.print(_table_of(results, wanted.budget))
    console.print(f"thresholds: fitted to {wanted.episodes} held-out episodes of training's environment")
    if wanted.out is not None:
        for written in _write(wanted.out, cautious, results, wanted):
            console.print(str(written), markup=False, soft_wrap=True)


def changed_env(spec: ModelSpec, env_kwargs: str) -> EnvLike | None:
    """The environment of training with other keyword arguments; None if there are none."""
    changed = parse_env_kwargs(env_kwargs)
    if not changed:
        return None
    handle = resolve_env(spec.env, {**spec.env_kwargs, **changed}, spec.driver)
    return handle.jax or handle.gym.env


def resolve_fallback(text: str) -> Any:
    """What `--fallback` names: chance, another model, or a function."""
    if text == "random":
        return text
    if Path(text).is_dir():
        return load(Path(text))
    if is_import_path(text):
        found: Callable[[Any], Any] = import_object("fallback", text, ACCEPTED)
        return found
    raise UserError(f"fallback: got {text}, accepted: {ACCEPTED}")


def _table_of(results: list[AtBudget], wanted: float) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("budget", "threshold", "handed over", *results[0].quantities):
        table.add_column(name)
    for each in results:
        mark = " *" if each.cautious.budget == wanted else ""
        table.add_row(
            f"{each.cautious.budget:g}{mark}",
            f"{each.cautious.threshold:.3g}",
            f"{each.played.hand_over_rate:.1%} of steps",
            *(_with_interval(estimate) for estimate in each.quantities.values()),
        )
    table.caption = "* the budget asked for. Events: share of episodes. Intervals: 95 % over episodes."
    return table


def _with_interval(estimate: Estimate) -> str:
    if estimate.interval is None:
        return f"{estimate.measured:.3g}"
    low, high = estimate.interval
    return f"{estimate.measured:.3g} ({low:.3g} to {high:.3g})"


def _write(out: Path, cautious: Cautious, results: list[AtBudget], wanted: HandOver) -> list[Path]:
    table = as_table(results)
    drawn = figure.draw(table, f"Fallback {wanted.fallback}, {wanted.episodes} episodes, 95 % CI")
    summary = {
        "env": cautious.model.spec.env,
        "agent": cautious.model.spec.agent,
        "fallback": wanted.fallback,
        "episodes": wanted.episodes,
        "budget": wanted.budget,
        "risk": wanted.risk,
        **provenance(),
    }
    return [*FILES.write(out, {"hand_over": table}, drawn, summary), cautious.save(out)]
