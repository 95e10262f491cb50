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
from surefoot.envs import MINATAR_IDS
from surefoot.experiments.base import Outcome, Settings, Sweep, SweptExperiment, Table, require_at_least
from surefoot.figures import minatar as figure
from surefoot.runs.log_files import read_episodes, read_metrics, seconds_until
from surefoot.statistics import (
    Estimate,
    Strata,
    bootstrap_estimate,
    interquartile_mean_over,
    mean_estimate,
    probability_of_improvement,
    window_means,
)
from surefoot.sweeps.plan import PlannedRun
from surefoot.errors import UserError

WINDOWS = 50
"""Of a learning curve; in full length, each as long as those of the published logs."""
END = 0.1
"""The last part of training, over which a run's score is taken."""
LEAST_END = 10_000
"""Steps that it has at least, so that even Freeway's episodes of 2,500 steps end in it."""
FEWEST_SEEDS = 5
"""Of two agents that are alike, a 95 % bootstrap prefers one in 20 % of cases with 3 seeds, 7 % with 5, 5 %
with 10 (4,000 simulated pairs each, normal scores)."""
FULL_LENGTH = 5_000_000
MORE_EPSILON = 0.1

RELEASED: dict[str, dict[str, Any]] = {
    "uadqn": {**uadqn.RELEASED, "exploration": 0.04},
    "qrdqn": qrdqn.RELEASED,
}
"""Settings of the released code on MinAtar, where they differ from the paper's."""


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """MinAtar: the settings of Figure 3 and of the appendix's table."""

    seeds: int = 10
    """Independent runs of each agent on each game."""
    steps: int = FULL_LENGTH
    """Environment steps per run, one update each."""
    games: str = ",".join(MINATAR_IDS)
    """Which of the five, with commas between."""
    agents: str = "dqn,qrdqn,bootstrapped,uadqn"
    """Which of the four, with commas between."""
    preset: Literal["paper", "released"] = "paper"
    """Where the paper and its released code differ: whose way (beta: 0.2 or 0.04)."""

    def __post_init__(self) -> None:
        """Validate."""
        require_at_least(1, seeds=self.seeds, steps=self.steps)
        chosen("--games", self.games, list(MINATAR_IDS))
        chosen("--agents", self.agents, list(AGENTS))


def chosen(flag: str, text: str, among: Sequence[str]) -> list[str]:
    """The names in a list with commas, in the order of those there are."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in among:
            raise UserError(f"{flag}: got {name}, accepted: {', '.join(among)}")
    if not names:
        raise UserError(f"{flag}: got nothing, accepted: some of {', '.join(among)}")
    return [name for name in among if name in names]


class Cell(NamedTuple):
    """One curve of one panel, one seed of it."""

    game: str
    agent: str
    epsilon: float | None
    """Of QR-DQN, where it is not the paper's."""
    seed: int

    @property
    def label(self) -> str:
        """What the agent is called in tables."""
        return self.agent if self.epsilon is None else f"{self.agent}, epsilon {self.epsilon:g}"


def cells(config: Config) -> list[Cell]:
    """All runs, seed by seed, so that a sweep that is not finished has something of everything."""
    games = chosen("--games", config.games, list(MINATAR_IDS))
    agents = chosen("--agents", config.agents, list(AGENTS))
    found: list[Cell] = []
    for seed in range(config.seeds):
        found += [Cell(game, agent, None, seed) for game in games for agent in agents]
        if "qrdqn" in agents:
            found.append(Cell(_tuned_on(games), "qrdqn", MORE_EPSILON, seed))
    return found


def _tuned_on(games: Sequence[str]) -> str:
    """Where more epsilon is tried: on the game of the appendix's search, if it is there."""
    return "breakout" if "breakout" in games else games[0]


def planned(config: Config, cell: Cell) -> PlannedRun:
    """A curve's run."""
    settings: dict[str, Any] = {
        "env": MINATAR_IDS[cell.game],
        "agent": cell.agent,
        "seed": cell.seed,
        "preset": "minatar",
        "eval_every": 0,
    }
    words = [cell.game, cell.agent]
    if cell.epsilon is not None:
        settings["final_epsilon"] = cell.epsilon
        words.append(f"epsilon{cell.epsilon:g}")
    if config.preset == "released" and cell.agent in RELEASED:
        settings |= RELEASED[cell.agent]
        words.append("released")
    words.append(f"seed{cell.seed}")
    return PlannedRun(name="-".join(words), steps=config.steps, settings=settings)


def run(config: Config, sweep: Sweep) -> Outcome:
    """Carry out all runs, then judge and draw."""
    plan = {cell: planned(config, cell) for cell in cells(config)}
    paths = sweep(list(plan.values()))
    curves = {cell: curve_of(paths[run.name], config.steps) for cell, run in plan.items()}
    scores = {cell: score_of(paths[run.name], config.steps) for cell, run in plan.items()}
    seconds = {cell: seconds_until(paths[run.name], config.steps) for cell, run in plan.items()}
    table = table_of(curves)
    return Outcome(
        claims(config, curves, scores),
        {"data": table, "scores": scores_table(scores, seconds)},
        figure.draw(table, published(), config.preset),
    )


def curve_of(path: Path, steps: int) -> Table:
    """A run's mean returns, episodes and non-greedy actions in each window of a fixed grid of steps."""
    grid = np.unique(np.linspace(0, steps, min(WINDOWS, steps) + 1).astype(int)[1:])
    episodes = read_episodes(path)
    ends = np.array([row.step for row in episodes], int)
    metrics = [line for line in read_metrics(path) if "uncertainty/nongreedy_fraction" in line]
    return {
        "step": grid,
        "mean_return": window_means(ends, np.array([row.gain for row in episodes]), grid),
        "episodes": np.bincount(np.searchsorted(grid, ends[ends <= steps]), minlength=len(grid)),
        "nongreedy_fraction": window_means(
            np.array([line["step"] for line in metrics]),
            np.array([line["uncertainty/nongreedy_fraction"] for line in metrics]),
            grid,
        ),
    }


def score_of(path: Path, steps: int) -> float:
    """Mean return of the episodes that ended in the last part of training; NaN where none did."""
    first = steps - max(END * steps, LEAST_END)
    gains = [row.gain for row in read_episodes(path) if first < row.step <= steps]
    return float(np.mean(gains)) if gains else float("nan")


def table_of(curves: Mapping[Cell, Table]) -> Table:
    """All curves below each other."""
    columns: dict[str, list[Any]] = {"game": [], "agent": [], "seed": []}
    for cell, curve in curves.items():
        length = len(curve["step"])
        columns["game"] += [cell.game] * length
        columns["agent"] += [cell.label] * length
        columns["seed"] += [cell.seed] * length
        for name, values in curve.items():
            columns.setdefault(name, []).extend(values.tolist())
    return {name: np.array(values) for name, values in columns.items()}


def scores_table(scores: Mapping[Cell, float], seconds: Mapping[Cell, float]) -> Table:
    """One line a run: its score, and how long it took on its core."""
    return {
        "game": np.array([cell.game for cell in scores]),
        "agent": np.array([cell.label for cell in scores]),
        "seed": np.array([cell.seed for cell in scores]),
        "score": np.array(list(scores.values())),
        "seconds": np.array([round(seconds[cell]) for cell in scores]),
    }


def published() -> Table:
    """The authors' own logs, one seed per agent, of the three games of which they exist."""
    text = files("surefoot.experiments").joinpath("published_minatar.csv").read_text()
    rows = list(csv.DictReader(text.splitlines()))
    return {
        "game": np.array([row["game"] for row in rows]),
        "agent": np.array([row["agent"] for row in rows]),
        "step": np.array([int(row["step"]) for row in rows]),
        "mean_return": np.array([float(row["mean_episode_return"]) for row in rows]),
    }


def claims(config: Config, curves: Mapping[Cell, Table], scores: Mapping[Cell, float]) -> list[Claim]:
    """The sentences of section 3.2; undecided where runs are shorter or fewer than it takes."""
    games = list(dict.fromkeys(cell.game for cell in scores))
    agents = list(dict.fromkeys(cell.label for cell in scores if cell.epsilon is None))
    better = (
        "QR-DQN outperforms the other DQN variants, and that UA-DQN in turn significantly outperforms QR-DQN"
    )
    nongreedy = "even at the end of training roughly 10-20% of the actions selected by UA-DQN are non-greedy"
    epsilon = "QR-DQN's performance decreases with higher levels of epsilon-greedy exploration"

    def of(game: str, label: str) -> NDArray[Any]:
        return np.array([score for cell, score in scores.items() if _is(cell, game, label)])

    best = {game: _best_mean([of(game, each) for each in agents]) for game in games}

    def strata(label: str) -> Strata:
        """Scores by game, as parts of the best agent's mean there."""
        return [of(game, label) / best[game] for game in games]

    found: list[tuple[str, str, Estimate, Any]] = []
    for one, other in (("qrdqn", "dqn"), ("qrdqn", "bootstrapped"), ("uadqn", "qrdqn")):
        if one not in agents or other not in agents:
            continue
        for game in games:
            gap = bootstrap_estimate(_gap, [of(game, one)], [of(game, other)])
            found.append((f"{game}: score of {one} less {other}", better, gap, above(0)))
        gap = bootstrap_estimate(_gap, strata(one), strata(other))
        found.append((f"all games: IQM of scores, {one} less {other}", better, gap, above(0)))
        chance = bootstrap_estimate(probability_of_improvement, strata(one), strata(other))
        found.append((f"all games: probability that {one} beats {other}", better, chance, above(0.5)))
    for game in games if "uadqn" in agents else ():
        ends = [_last(c["nongreedy_fraction"]) for cell, c in curves.items() if _is(cell, game, "uadqn")]
        name = f"{game}: non-greedy actions of uadqn at the end"
        found.append((name, nongreedy, mean_estimate(np.array(ends)), between(0.1, 0.2)))
    for game, label in dict.fromkeys((cell.game, cell.label) for cell in scores if cell.epsilon is not None):
        gap = bootstrap_estimate(_gap, [of(game, "qrdqn")], [of(game, label)])
        found.append((f"{game}: score of qrdqn less {label}", epsilon, gap, above(0)))
    judged = [
        claim(name, paper=paper, **estimate._asdict(), criterion=criterion)
        for name, paper, estimate, criterion in found
    ]
    return if_enough(config, judged)


def if_enough(config: Settings, judged: Sequence[Claim]) -> list[Claim]:
    """Claims with their verdicts, or undecided where runs are too short or too few."""
    enough = config.steps >= FULL_LENGTH and config.seeds >= FEWEST_SEEDS
    return [each if enough else each.undecided() for each in judged]


def _gap(ours: Strata, theirs: Strata) -> float:
    return interquartile_mean_over(ours) - interquartile_mean_over(theirs)


def _best_mean(scores: Sequence[NDArray[Any]]) -> float:
    """The scale of a game, by the agents whose runs all have a score; 1 where that is nought."""
    means = [float(np.mean(each)) for each in scores if not np.isnan(each).any()]
    return max(means, default=0.0) or 1.0


def _is(cell: Cell, game: str, label: str) -> bool:
    return (cell.game, cell.label) == (game, label)


def _last(values: NDArray[Any]) -> float:
    """The last that is known."""
    known = values[~np.isnan(values)]
    return float(known[-1]) if len(known) else float("nan")


EXPERIMENT = SweptExperiment(
    name="minatar",
    title="Figure 3: learning on MinAtar",
    intervals="95 %, stratified bootstrap over seeds (curves: Student's)",
    tables=("data", "scores"),
    config=Config,
    run=run,
)
