"""Deep sea: how many episodes each way of exploring needs to solve grids of growing size.

A size is solved, as in bsuite, at the first episode by which fewer than nine in ten of all episodes so far
have strayed from the path to the treasure (mean regret below 0.9).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, product, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.claims import Claim, above, below, claim
from surefoot.errors import require
from surefoot.experiments.base import (
    ExperimentConfig,
    Outcome,
    Sweep,
    SweptExperiment,
    Table,
    chosen_names,
    names_from,
)
from surefoot.figures import deep_sea as figure
from surefoot.runs.log_files import read_metrics
from surefoot.settings import bounded, checked
from surefoot.statistics import fraction_estimate
from surefoot.sweeps.plan import PlannedRun

MAX_REGRET = 0.9
"""A size is solved when a smaller part than this of all episodes has strayed."""
LOG_EPISODES = 10
"""Episodes between entries of the log, which is how finely the solving episode is known."""
FIRST_ROUND = 1_000
"""Episodes that each run makes in a first round, if there are twice as many; what a round solves ends."""
SMALLEST_DEEP = 20
"""The smallest size on which claims are judged: smaller ones can be solved by chance."""

NETWORK = "mlp:50,50"
LEARNING_SETTINGS: dict[str, Any] = {
    "discount": 0.99,
    "learning_rate": 1e-3,
    "batch_size": 64,
    "replay_capacity": 100_000,
    "learning_starts": 128,
    "target_period": 20,
}
"""Settings of all agents: those of bsuite's but for the replay, the batch and the target's period."""
EPSILON = {"initial_epsilon": 1.0, "final_epsilon": 0.05, "final_epsilon_step": 1_000}
HEADS = {"heads": 10, "initial_epsilon": 0.0, "final_epsilon": 0.0, "final_epsilon_step": 1}
PRIOR_SCALE = 6.0
"""Factor of the prior functions of all agents that have some."""
PRIOR_FUNCTIONS = {"posterior": "prior-functions", "prior_function_scale": PRIOR_SCALE}
DEEP: dict[str, Any] = {
    "quantiles": 10,
    "kappa": 1.0,
    "auxiliary_networks": 10,
    "targets": "own-greedy",
    "aleatoric": "biased",
    "explorer": "thompson-draw",
}
"""UA-DQN whose uncertainty about later states reaches earlier ones, and that follows one draw an episode."""
WITHOUT_OWN_TARGETS = {"targets": "shared", "aleatoric": "unbiased"}


@dataclass(frozen=True)
class Candidate:
    """A way of exploring: an agent and its settings."""

    group: str
    """The panel of the figure that shows it."""
    label: str
    agent: str = "uadqn"
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


def _deep(group: str, label: str, **settings: Any) -> Candidate:
    posterior = {} if "posterior" in settings else PRIOR_FUNCTIONS
    return Candidate(group, label, settings={**DEEP, **posterior, **settings})


AGENTS, EXPLORERS, POSTERIORS = "Agents", "Explorers of UA-DQN", "Posteriors of UA-DQN"
CANDIDATES = {
    "dqn": Candidate(AGENTS, "DQN", "dqn", EPSILON),
    "qrdqn": Candidate(AGENTS, "QR-DQN", "qrdqn", {"quantiles": 10, "kappa": 1.0, **EPSILON}),
    "bootstrapped": Candidate(AGENTS, "Bootstrapped DQN", "bootstrapped", HEADS),
    "bootstrapped-prior": Candidate(
        AGENTS, "Bootstrapped DQN, priors", "bootstrapped", {**HEADS, "head_prior_scale": PRIOR_SCALE}
    ),
    "paper": _deep(
        AGENTS,
        "UA-DQN, the paper's posterior and explorer",
        **WITHOUT_OWN_TARGETS,
        posterior="anchored",
        explorer="thompson",
        exploration=1.0,
        auxiliary_networks=2,
    ),
    "thompson-draw": _deep(EXPLORERS, "Thompson, one draw an episode"),
    "thompson": _deep(EXPLORERS, "Thompson, each step", explorer="thompson", exploration=1.0),
    "thompson-episode": _deep(
        EXPLORERS, "Thompson, noise of an episode", explorer="thompson-episode", exploration=1.0
    ),
    "ucb": _deep(EXPLORERS, "UCB", explorer="ucb", optimism=3.0),
    "ids": _deep(EXPLORERS, "IDS", explorer="ids", regret_width=3.0),
    "ids-randomised": _deep(EXPLORERS, "IDS, randomised", explorer="ids-randomised", regret_width=3.0),
    "epsilon-greedy": _deep(EXPLORERS, "epsilon-greedy", explorer="epsilon-greedy", **EPSILON),
    "shared-targets": _deep(POSTERIORS, "prior functions, shared targets", **WITHOUT_OWN_TARGETS),
    "own-targets": _deep(POSTERIORS, "prior functions, own targets, shared actions", targets="own"),
    "anchored": _deep(POSTERIORS, "anchored", posterior="anchored"),
    "ensemble": _deep(POSTERIORS, "ensemble", posterior="ensemble"),
    "epinet": _deep(POSTERIORS, "epinet", posterior="epinet", epinet_prior_scale=PRIOR_SCALE),
    "mc-dropout": _deep(POSTERIORS, "MC dropout", posterior="mc-dropout"),
    "bayes-by-backprop": _deep(POSTERIORS, "Bayes by Backprop", posterior="bayes-by-backprop"),
}
ALSO_SHOWN = {POSTERIORS: ("thompson-draw", "prior functions, own targets and actions")}
"""The candidate that the others of a panel differ from in one respect."""
DEEPEST, GREEDY = "thompson-draw", ("dqn", "qrdqn")


def require_sizes(field: str, sizes: tuple[int, ...]) -> None:
    """Refuse sizes that are out of bounds or repeat."""
    for size in sizes:
        require(field, size, 2 <= size <= 100, "whole numbers from 2 to 100")
    given = " ".join(map(str, sizes)) or "none"
    require(field, given, 0 < len(sizes) == len(set(sizes)), "different sizes")


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """Deep sea: sizes, and ways of exploring."""

    seeds: int = bounded(2, at_least=1)
    """Independent runs of each candidate on each size."""
    steps: int = bounded(12_000, at_least=100)
    """Steps of a run at most, on the largest size, where an episode has as many as the size; on smaller
    ones, those of as many episodes."""
    sizes: tuple[int, ...] = checked((5, 10, 20), require_sizes)
    """Rows and columns of the grids; a candidate that solves one with no seed is not tried on larger ones."""
    candidates: str = names_from(",".join(CANDIDATES), CANDIDATES)
    """Ways of exploring, with commas between."""
    mapping_seed: int = bounded(42, at_least=0, at_most=2**32 - 1)
    """Seed of the random meanings of actions."""


def planned_run(config: Config, name: str, size: int, seed: int, steps: int) -> PlannedRun:
    """One run of a candidate."""
    candidate = CANDIDATES[name]
    settings = {
        "env": "surefoot/DeepSea-v0",
        "env_kwargs": f'{{"size": {size}, "mapping_seed": {config.mapping_seed}}}',
        "agent": candidate.agent,
        "network": NETWORK,
        "preset": "minatar",
        "seed": seed,
        "eval_every": 0,
        "log_every": LOG_EPISODES * size,
        **LEARNING_SETTINGS,
        **candidate.settings,
    }
    parts = [name, f"size{size}", f"mapping{config.mapping_seed}", f"seed{seed}"]
    return PlannedRun(name="-".join(parts), steps=steps, settings=settings)


def regret_curve(path: Path, size: int, steps: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Episodes of a run's log, and the part of all episodes so far that strayed."""
    lines = [line for line in read_metrics(path) if line["step"] <= steps and line["step"] % size == 0]
    episodes = np.array([line["step"] // size for line in lines], int)
    strayed = np.array([line["info/strayed"] for line in lines], float)
    return episodes, strayed / np.maximum(episodes, 1)


def solved_at(episodes: NDArray[Any], regret: NDArray[Any]) -> float:
    """The first episode with a mean regret below the limit; NaN if there is none."""
    below_limit = episodes[regret < MAX_REGRET]
    return float(below_limit[0]) if len(below_limit) else float("nan")


def rounds(config: Config) -> list[int]:
    """Episodes of a run after each round, twice as many as after the one before; the last may be longer."""
    episodes = max(config.steps // max(config.sizes), 1)
    doubled = (FIRST_ROUND * 2**k for k in count())
    return [*takewhile(lambda each: 2 * each <= episodes, doubled), episodes]


def solved_episodes(
    config: Config, sweep: Sweep, size: int, names: Sequence[str]
) -> dict[tuple[str, int], tuple[float, int]]:
    """For each candidate and seed, the episode at which the size was solved, and those of the run."""
    unsolved = list(product(range(config.seeds), names))
    found: dict[tuple[str, int], tuple[float, int]] = {}
    for episodes in rounds(config):
        plan = {
            (seed, name): planned_run(config, name, size, seed, episodes * size) for seed, name in unsolved
        }
        paths = sweep(list(plan.values())) if plan else {}
        for (seed, name), run in plan.items():
            found[name, seed] = (solved_at(*regret_curve(paths[run.name], size, run.steps)), episodes)
        unsolved = [(seed, name) for seed, name in unsolved if np.isnan(found[name, seed][0])]
    return found


def run(config: Config, sweep: Sweep) -> Outcome:
    """Train every candidate on every size until it is solved or out of steps, the smaller sizes first."""
    names = chosen_names("candidates", config.candidates, CANDIDATES)
    found: dict[tuple[str, int, int], tuple[float, int]] = {}
    for size in sorted(config.sizes):
        of_size = solved_episodes(config, sweep, size, names)
        found |= {(name, size, seed): value for (name, seed), value in of_size.items()}
        names = [
            name for name in names if not all(np.isnan(of_size[name, k][0]) for k in range(config.seeds))
        ]
    keys = sorted(found, key=lambda key: (list(CANDIDATES).index(key[0]), *key[1:]))
    table = {
        "group": np.array([CANDIDATES[name].group for name, _, _ in keys]),
        "candidate": np.array([name for name, _, _ in keys]),
        "label": np.array([CANDIDATES[name].label for name, _, _ in keys]),
        "size": np.array([size for _, size, _ in keys]),
        "seed": np.array([seed for _, _, seed in keys]),
        "solved_episode": np.array([found[key][0] for key in keys]),
        "episodes": np.array([found[key][1] for key in keys]),
    }
    return Outcome(claims(table, rounds(config)[-1]), {"data": table}, figure.draw(table, ALSO_SHOWN))


def claims(table: Table, episodes: int) -> list[Claim]:
    """Who solves the largest size within so many episodes, by the fraction of seeds."""
    largest = int(table["size"].max())
    deep = (
        "Osband et al. (2019): dithering needs a number of episodes that is exponential in the size; "
        "an agent that explores deeply needs a polynomial one"
    )
    paper = (
        "one-step epistemic uncertainty is nonetheless useful for exploration as it allows for the "
        "identification of less-visited state-action pairs"
    )

    def solving(name: str) -> NDArray[Any]:
        rows = (table["candidate"] == name) & (table["size"] == largest)
        return ~np.isnan(table["solved_episode"][rows])

    measurements = [
        (DEEPEST, deep, above(0.5)),
        *((name, deep, below(0.5)) for name in GREEDY),
        ("paper", paper, above(0.5)),
    ]
    made = [
        claim(
            f"seeds that solve size {largest} within {episodes:,} episodes: {CANDIDATES[name].label}",
            paper=sentence,
            **fraction_estimate(solving(name))._asdict(),
            criterion=criterion,
        )
        for name, sentence, criterion in measurements
        if len(solving(name))
    ]
    return made if largest >= SMALLEST_DEEP else [each.undecided() for each in made]


EXPERIMENT = SweptExperiment(
    name="deep-sea",
    title="Deep sea: episodes until a size is solved",
    intervals="95 % over seeds",
    tables=("data",),
    config=Config,
    run=run,
)
