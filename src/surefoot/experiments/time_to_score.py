"""Time to score: how long UA-DQN trains on Breakout until it plays well, with two presets.

They are `fast` and the paper's. Time is what a run used of its core, so that other programs on the
machine matter little.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.claims import Claim, below, between, claim
from surefoot.envs import MINATAR_IDS
from surefoot.experiments.base import ExperimentConfig, Outcome, Sweep, SweptExperiment, Table
from surefoot.experiments.minatar import final_score
from surefoot.figures import time_to_score as figure
from surefoot.runs.log_files import CPU, read_episodes, seconds_until
from surefoot.settings import bounded
from surefoot.statistics import bootstrap_estimate, mean_estimate, mean_over, step_grid
from surefoot.sweeps.plan import PlannedRun
from surefoot.tables import stack_tables

GAME, AGENT = "breakout", "uadqn"
PAPER, FAST = "paper", "fast"
PRESETS = {PAPER: "minatar", FAST: "fast"}
"""The presets that are compared, by what they are called here."""
EPISODES = 50
"""Training episodes over which returns are averaged."""
POINTS = 100
"""Points of a learning curve."""


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """Time to score: the score that is to be reached, and seeds."""

    seeds: int = bounded(3, at_least=1)
    """Independent runs under each preset."""
    steps: int = bounded(500_000, at_least=1)
    """Environment steps per run."""
    score: float = bounded(10.0, above=0)
    """The mean return of the last 50 training episodes that is to be reached."""


class RunKey(NamedTuple):
    """What identifies a run."""

    preset: str
    seed: int


def planned_run(config: Config, key: RunKey) -> PlannedRun:
    """A training run."""
    settings = {
        "env": MINATAR_IDS[GAME],
        "agent": AGENT,
        "seed": key.seed,
        "preset": PRESETS[key.preset],
        "eval_every": 0,
    }
    return PlannedRun(name=f"{key.preset}-seed{key.seed}", steps=config.steps, settings=settings)


def run(config: Config, sweep: Sweep) -> Outcome:
    """Train all runs, then compare how long they took."""
    keys = [RunKey(preset, seed) for seed in range(config.seeds) for preset in PRESETS]
    plan = {key: planned_run(config, key) for key in keys}
    paths = sweep(list(plan.values()))
    directories = {key: paths[each.name] for key, each in plan.items()}
    curves = stack_tables([learning_curve(key, directories[key], config.steps) for key in sorted(keys)])
    scores = scores_table(directories, config)
    return Outcome(claims(scores), {"data": curves, "scores": scores}, figure.draw(curves, config.score))


def recent_means(returns: Sequence[float]) -> NDArray[np.float64]:
    """For each episode the mean return of the last 50 up to it; NaN for the first 49."""
    sums = np.cumsum([0.0, *returns])
    means = np.full(len(returns), np.nan)
    means[EPISODES - 1 :] = (sums[EPISODES:] - sums[:-EPISODES]) / EPISODES
    return means


def steps_to_score(directory: Path, score: float) -> float:
    """The step at which the mean return of 50 episodes first reaches a score; NaN if it never does."""
    episodes = read_episodes(directory)
    reached = np.flatnonzero(recent_means([row.episode_return for row in episodes]) >= score)
    return float(episodes[reached[0]].step) if len(reached) else float("nan")


def seconds_to_score(directory: Path, score: float) -> float:
    """The seconds of a core that training took until then."""
    step = steps_to_score(directory, score)
    return step if np.isnan(step) else seconds_until(directory, int(step), CPU)


def learning_curve(key: RunKey, directory: Path, steps: int) -> Table:
    """The mean return of the last 50 episodes by step and by second."""
    episodes = read_episodes(directory)
    ends = np.array([row.step for row in episodes], int)
    means = np.array([np.nan, *recent_means([row.episode_return for row in episodes])])
    grid = step_grid(steps, POINTS)
    return {
        "preset": np.full(len(grid), key.preset),
        "seed": np.full(len(grid), key.seed),
        "step": grid,
        "seconds": np.array([round(seconds_until(directory, int(step), CPU), 1) for step in grid]),
        "mean_return": means[np.searchsorted(ends, grid, side="right")],
    }


def scores_table(directories: Mapping[RunKey, Path], config: Config) -> Table:
    """A row for each run: when it reached the score, what it scored in the end, how long it took."""
    keys = sorted(directories)
    paths = [directories[key] for key in keys]
    seconds = np.array([seconds_until(path, config.steps, CPU) for path in paths])
    return {
        "preset": np.array([key.preset for key in keys]),
        "seed": np.array([key.seed for key in keys]),
        "steps_to_score": np.array([steps_to_score(path, config.score) for path in paths]),
        "seconds_to_score": np.array([seconds_to_score(path, config.score) for path in paths]),
        "final_score": np.array([final_score(path, config.steps) for path in paths]),
        "seconds": seconds.round(1),
    }


def claims(scores: Table) -> list[Claim]:
    """What the preset `fast` promises."""

    def of(preset: str, column: str) -> NDArray[Any]:
        return scores[column][scores["preset"] == preset]

    ratio = bootstrap_estimate(
        lambda fast, paper: mean_over(fast) / mean_over(paper),
        [of(FAST, "seconds_to_score")],
        [of(PAPER, "seconds_to_score")],
    )
    usual = mean_estimate(of(PAPER, "final_score"))
    final = float(np.mean(of(FAST, "final_score")))
    return [
        claim(
            "seconds until the score is reached: fast / paper",
            paper="(not in the paper) `fast` needs at most half of the time of the paper's settings",
            **ratio._asdict(),
            criterion=below(0.5),
        ),
        claim(
            "final score: mean of fast, in the interval of paper",
            paper="(not in the paper) `fast` ends with the score of the paper's settings",
            measured=final,
            interval=None if usual.interval is None else (final, final),
            criterion=between(*(usual.interval or (np.nan, np.nan))),
        ),
    ]


EXPERIMENT = SweptExperiment(
    name="time-to-score",
    title="Time to score on Breakout: the preset fast and the paper's",
    intervals="95 %, bootstrap over seeds (final score of paper: Student's)",
    tables=("data", "scores"),
    config=Config,
    min_seeds=3,
    run=run,
)
