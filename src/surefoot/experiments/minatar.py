"""Figure 3: learning curves of four agents on the five games of MinAtar."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.agents import AGENTS, qrdqn, uadqn
from surefoot.claims import Claim, above, between, claim
from surefoot.comparison import run_scores
from surefoot.comparison.contrasts import Contrast, Scores, contrast, fraction_of_best, normalised
from surefoot.comparison.run_scores import LAST, WINDOWS, read_series
from surefoot.envs import MINATAR_IDS
from surefoot.experiments.base import (
    ExperimentConfig,
    Outcome,
    Sweep,
    SweptExperiment,
    Table,
    chosen_names,
    names_from,
)
from surefoot.figures import minatar as figure
from surefoot.runs.log_files import seconds_until
from surefoot.settings import bounded
from surefoot.statistics import MIN_SEEDS_TO_DECIDE, Estimate, mean_estimate, step_grid, window_means
from surefoot.sweeps.plan import PlannedRun

MIN_END_STEPS = 10_000
"""Fewest steps over which a score is taken, so that even Freeway's episodes of 2,500 steps end in them."""
FULL_LENGTH = 5_000_000
"""Steps of a run in the paper."""
HIGHER_EPSILON = 0.1
"""QR-DQN's final epsilon in the runs that test a claim of the paper about it; otherwise it is the paper's."""

RELEASED_SETTINGS: dict[str, dict[str, Any]] = {
    "uadqn": {**uadqn.RELEASED_SETTINGS, "exploration": 0.04},
    "qrdqn": qrdqn.RELEASED_SETTINGS,
}
"""Settings of the released code on MinAtar, where they differ from the paper's."""


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """MinAtar: the settings of Figure 3 and of the table in the appendix."""

    seeds: int = bounded(10, at_least=1)
    """Independent runs of each agent on each game."""
    steps: int = bounded(FULL_LENGTH, at_least=1)
    """Environment steps per run, one update each."""
    games: str = names_from(",".join(MINATAR_IDS), MINATAR_IDS)
    """Games to train on, with commas between."""
    agents: str = names_from("dqn,qrdqn,bootstrapped,uadqn", AGENTS)
    """Agents to train, with commas between."""
    preset: Literal["paper", "released"] = "paper"
    """Whose settings are used where the paper and its released code differ (beta: 0.2 or 0.04)."""


class CurveKey(NamedTuple):
    """What identifies one learning curve of one seed."""

    game: str
    agent: str
    epsilon: float | None
    """QR-DQN's final epsilon where it is not the paper's."""
    seed: int

    @property
    def label(self) -> str:
        """The name of the agent in tables."""
        return self.agent if self.epsilon is None else f"{self.agent}, epsilon {self.epsilon:g}"


def curve_keys(config: Config) -> list[CurveKey]:
    """All curves, seed by seed, so that an unfinished sweep has runs of every agent on every game."""
    games = chosen_names("games", config.games, MINATAR_IDS)
    agents = chosen_names("agents", config.agents, AGENTS)
    keys: list[CurveKey] = []
    for seed in range(config.seeds):
        keys += [CurveKey(game, agent, None, seed) for game in games for agent in agents]
        if "qrdqn" in agents:
            keys.append(CurveKey(_game_with_higher_epsilon(games), "qrdqn", HIGHER_EPSILON, seed))
    return keys


def _game_with_higher_epsilon(games: Sequence[str]) -> str:
    """The game on which a higher epsilon is tried: Breakout, as in the paper's search, if it is chosen."""
    return "breakout" if "breakout" in games else games[0]


def planned_run(config: Config, key: CurveKey) -> PlannedRun:
    """The training run of a curve."""
    settings: dict[str, Any] = {
        "env": MINATAR_IDS[key.game],
        "agent": key.agent,
        "seed": key.seed,
        "preset": "minatar",
        "eval_every": 0,
    }
    parts = [key.game, key.agent]
    if key.epsilon is not None:
        settings["final_epsilon"] = key.epsilon
        parts.append(f"epsilon{key.epsilon:g}")
    if config.preset == "released" and key.agent in RELEASED_SETTINGS:
        settings |= RELEASED_SETTINGS[key.agent]
        parts.append("released")
    parts.append(f"seed{key.seed}")
    return PlannedRun(name="-".join(parts), steps=config.steps, settings=settings)


def run(config: Config, sweep: Sweep) -> Outcome:
    """Train all runs, then check the claims and draw the figure."""
    plan = {key: planned_run(config, key) for key in curve_keys(config)}
    paths = sweep(list(plan.values()))
    curves = {key: learning_curve(paths[run.name], config.steps) for key, run in plan.items()}
    scores = {key: final_score(paths[run.name], config.steps) for key, run in plan.items()}
    seconds = {key: seconds_until(paths[run.name], config.steps) for key, run in plan.items()}
    of_figure = {key: curve for key, curve in curves.items() if key.epsilon is None}
    return Outcome(
        claims(curves, scores),
        {"data": curves_table(curves), "scores": scores_table(scores, seconds)},
        figure.draw(curves_table(of_figure), published_curves(), config.preset),
    )


def learning_curve(path: Path, steps: int) -> Table:
    """A run's mean returns, episodes and non-greedy actions in each window of a fixed grid of steps."""
    grid = step_grid(steps, WINDOWS)
    returns, nongreedy = read_series(path), read_series(path, "uncertainty/nongreedy_fraction")
    ends = returns.steps[returns.steps <= steps]
    return {
        "step": grid,
        "mean_return": window_means(*returns, grid),
        "episodes": np.bincount(np.searchsorted(grid, ends), minlength=len(grid)),
        "nongreedy_fraction": window_means(*nongreedy, grid),
    }


def final_score(path: Path, steps: int) -> float:
    """Mean return of the episodes that ended in the last part of training; NaN where none did."""
    return run_scores.final_score(read_series(path), steps, min(max(LAST, MIN_END_STEPS / steps), 1.0))


def curves_table(curves: Mapping[CurveKey, Table]) -> Table:
    """One table of all curves, with a row for each window."""
    columns: dict[str, list[Any]] = {"game": [], "agent": [], "seed": []}
    for key, curve in curves.items():
        length = len(curve["step"])
        columns["game"] += [key.game] * length
        columns["agent"] += [key.label] * length
        columns["seed"] += [key.seed] * length
        for name, values in curve.items():
            columns.setdefault(name, []).extend(values.tolist())
    return {name: np.array(values) for name, values in columns.items()}


def scores_table(scores: Mapping[CurveKey, float], seconds: Mapping[CurveKey, float]) -> Table:
    """A table with a row for each run: its score, and how long it took on its core."""
    return {
        "game": np.array([key.game for key in scores]),
        "agent": np.array([key.label for key in scores]),
        "seed": np.array([key.seed for key in scores]),
        "score": np.array(list(scores.values())),
        "seconds": np.array([round(seconds[key]) for key in scores]),
    }


def published_curves() -> Table:
    """The curves that the authors published: one seed per agent, on three games."""
    text = files("surefoot.experiments").joinpath("published_minatar.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    return {
        "game": np.array([row["game"] for row in rows]),
        "agent": np.array([row["agent"] for row in rows]),
        "step": np.array([int(row["step"]) for row in rows]),
        "mean_return": np.array([float(row["mean_episode_return"]) for row in rows]),
    }


def claims(curves: Mapping[CurveKey, Table], scores: Mapping[CurveKey, float]) -> list[Claim]:
    """The sentences of section 3.2, checked over seeds."""
    games = list(dict.fromkeys(key.game for key in scores))
    agents = list(dict.fromkeys(key.label for key in scores if key.epsilon is None))
    better = (
        "QR-DQN outperforms the other DQN variants, and that UA-DQN in turn significantly outperforms QR-DQN"
    )
    nongreedy = "even at the end of training roughly 10-20% of the actions selected by UA-DQN are non-greedy"
    epsilon = "QR-DQN's performance decreases with higher levels of epsilon-greedy exploration"

    def scores_of(game: str, label: str) -> NDArray[Any]:
        return np.array([score for key, score in scores.items() if _is(key, game, label)])

    by_game: Scores = {game: {label: scores_of(game, label) for label in agents} for game in games}
    relative = normalised(by_game, fraction_of_best)

    def on_all_games(one: str, other: str) -> Contrast:
        return contrast(*([relative[game][label] for game in games] for label in (one, other)))

    def less(game: str, one: str, other: str) -> Estimate:
        return contrast([scores_of(game, one)], [scores_of(game, other)]).difference

    measurements: list[tuple[str, str, Estimate, Any]] = []
    for one, other in (("qrdqn", "dqn"), ("qrdqn", "bootstrapped"), ("uadqn", "qrdqn")):
        if one not in agents or other not in agents:
            continue
        for game in games:
            name = f"{game}: score of {one} less {other}"
            measurements.append((name, better, less(game, one, other), above(0)))
        overall = on_all_games(one, other)
        name = f"all games: IQM of scores, {one} less {other}"
        measurements.append((name, better, overall.difference, above(0)))
        name = f"all games: probability that {one} beats {other}"
        measurements.append((name, better, overall.probability, above(0.5)))
    for game in games if "uadqn" in agents else ():
        ends = [_last(c["nongreedy_fraction"]) for key, c in curves.items() if _is(key, game, "uadqn")]
        name = f"{game}: non-greedy actions of uadqn at the end"
        measurements.append((name, nongreedy, mean_estimate(np.array(ends)), between(0.1, 0.2)))
    for game, label in dict.fromkeys((key.game, key.label) for key in scores if key.epsilon is not None):
        name = f"{game}: score of qrdqn less {label}"
        measurements.append((name, epsilon, less(game, "qrdqn", label), above(0)))
    return [
        claim(name, paper=paper, **estimate._asdict(), criterion=criterion)
        for name, paper, estimate, criterion in measurements
    ]


def _is(key: CurveKey, game: str, label: str) -> bool:
    return (key.game, key.label) == (game, label)


def _last(values: NDArray[Any]) -> float:
    """The last value that is not NaN; NaN where all are."""
    known = values[~np.isnan(values)]
    return float(known[-1]) if len(known) else float("nan")


EXPERIMENT = SweptExperiment(
    name="minatar",
    title="Figure 3: learning on MinAtar",
    intervals="95 %, stratified bootstrap over seeds (curves: Student's)",
    tables=("data", "scores"),
    config=Config,
    min_seeds=MIN_SEEDS_TO_DECIDE,
    run=run,
)
