"""Calibration: which settings make UA-DQN's numbers true, on small tasks whose exact returns are known.

Each part of the preset `calibrated` is added to the paper's settings, and left out of the preset. What a run
believes is compared with the exact returns of its own greedy policy, over all states and actions.
"""

from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.agents import qrdqn, uadqn
from surefoot.claims import Claim, above, below, between, claim
from surefoot.envs import delayed_bandit, noisy_chain, tabular
from surefoot.experiments.base import (
    ExperimentConfig,
    Outcome,
    Sweep,
    SweptExperiment,
    Table,
    chosen_names,
    names_from,
)
from surefoot.experiments.cliff import LEARNING_SETTINGS, NETWORK
from surefoot.figures import calibration as figure
from surefoot.runs.log_files import read_metrics
from surefoot.settings import bounded
from surefoot.statistics import mean_estimate
from surefoot.sweeps.plan import PlannedRun

PROBE_EVERY = 250
"""Steps between calls of the probe."""
LATE_LOOKS = 8
"""The number of last looks over which a run's errors are averaged."""
EXPLORATION = 4.0
"""Strength of Thompson sampling, as on the cliff."""

PARTS: dict[str, dict[str, Any]] = {
    "levels": {"levels": "midpoints"},
    "quantiles": {"quantiles": 20},
    "prior-scale": {"prior_scale": "all"},
    "networks": {"auxiliary_networks": 5},
    "normalise": {"normalise": True},
}
"""The parts of the preset `calibrated` that differ from the paper's settings, and normalised observations."""

PAPER, CALIBRATED = "paper", "calibrated"
CALIBRATED_SETTINGS: dict[str, Any] = {
    **uadqn.CALIBRATED_SETTINGS,
    **qrdqn.CALIBRATED_ON_VECTORS,
    "normalise": True,
}


def calibrated_without(part: str) -> dict[str, Any]:
    """The preset's settings but for one part."""
    return {name: value for name, value in CALIBRATED_SETTINGS.items() if name not in PARTS[part]}


CANDIDATES: dict[str, dict[str, Any]] = {
    PAPER: {},
    **{f"paper+{name}": part for name, part in PARTS.items()},
    CALIBRATED: CALIBRATED_SETTINGS,
    **{f"calibrated-{name}": calibrated_without(name) for name in PARTS},
    "calibrated+kappa": {**CALIBRATED_SETTINGS, "kappa": 1.0},
    "calibrated+prior-functions": {**calibrated_without("prior-scale"), "posterior": "prior-functions"},
    "calibrated+own-targets": {**CALIBRATED_SETTINGS, "targets": "own"},
}
"""Settings by name, as far as they differ from the paper's."""


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """Calibration: settings of UA-DQN, and seeds."""

    seeds: int = bounded(4, at_least=1)
    """Independent runs of each candidate on each task."""
    steps: int = bounded(10_000, at_least=PROBE_EVERY)
    """Environment steps per run, one update each."""
    candidates: str = names_from(",".join(CANDIDATES), CANDIDATES)
    """Settings to compare, with commas between: + adds a part, - leaves one out."""


def errors(model: Any, table: tabular.Table) -> dict[str, float]:
    """How far a model's beliefs are from the exact returns of its own greedy policy."""
    beliefs = model.beliefs(np.eye(tabular.shape_of(table)[0], dtype=np.float32))
    mean, aleatoric = np.asarray(beliefs.mean), np.asarray(beliefs.aleatoric)
    exact = tabular.exact_returns(table, mean.argmax(axis=-1).tolist())
    certain = exact.sd < 1e-6
    return {
        "calibration/mean_error": _root_mean_square(mean - exact.mean),
        "calibration/aleatoric_error": _root_mean_square(aleatoric - exact.sd),
        "calibration/noisy_ratio": float(np.mean(aleatoric[~certain] / exact.sd[~certain])),
        "calibration/certain_sd": _root_mean_square(aleatoric[certain]),
        "calibration/epistemic": _root_mean_square(np.asarray(beliefs.epistemic)),
    }


MEASURES = ("mean_error", "aleatoric_error", "noisy_ratio", "certain_sd", "epistemic")


def _root_mean_square(values: NDArray[Any]) -> float:
    return float(np.sqrt(np.mean(values**2)))


CHAIN = noisy_chain.Config(length=10)


def look_at_chain(model: Any) -> dict[str, float]:
    """The probe of runs on the noisy chain."""
    return errors(model, noisy_chain.table(CHAIN))


def look_at_bandit(model: Any) -> dict[str, float]:
    """The probe of runs on the delayed bandit."""
    return errors(model, delayed_bandit.table())


TASKS = {
    "noisy chain": ("surefoot/NoisyChain-v0", asdict(CHAIN), look_at_chain),
    "delayed bandit": ("surefoot/DelayedBandit-v0", asdict(delayed_bandit.Config()), look_at_bandit),
}
"""Environments, their arguments, and probes by the names of the tasks."""


def planned_run(name: str, task: str, seed: int, steps: int) -> PlannedRun:
    """One run of a candidate."""
    env, env_kwargs, probe = TASKS[task]
    settings = {
        "env": env,
        "env_kwargs": env_kwargs,
        "agent": "uadqn",
        "network": NETWORK,
        "preset": "minatar",
        "seed": seed,
        "eval_every": 0,
        "log_every": PROBE_EVERY,
        "probe": f"{probe.__module__}:{probe.__name__}",
        **LEARNING_SETTINGS,
        "exploration": EXPLORATION,
        **CANDIDATES[name],
    }
    return PlannedRun(name=f"{task.replace(' ', '-')}-{name}-seed{seed}", steps=steps, settings=settings)


def run(config: Config, sweep: Sweep) -> Outcome:
    """Train every candidate on every task with every seed, then compare the errors."""
    names = chosen_names("candidates", config.candidates, CANDIDATES)
    keys = list(product(TASKS, names, range(config.seeds)))
    plan = {key: planned_run(key[1], key[0], key[2], config.steps) for key in keys}
    paths = sweep(list(plan.values()))
    late = [late_means(paths[plan[key].name], config.steps) for key in keys]
    table = {
        "task": np.array([task for task, _, _ in keys]),
        "candidate": np.array([name for _, name, _ in keys]),
        "seed": np.array([seed for _, _, seed in keys]),
        **{measure: np.array([each[measure] for each in late]) for measure in MEASURES},
    }
    return Outcome(claims(table), {"data": table}, figure.draw(table))


def late_means(path: Path, steps: int) -> dict[str, float]:
    """A run's errors, as means over its last looks."""
    lines = [line for line in read_metrics(path) if line["step"] <= steps and line["step"] % PROBE_EVERY == 0]
    return {
        measure: float(np.mean([line[f"calibration/{measure}"] for line in lines[-LATE_LOOKS:]]))
        for measure in MEASURES
    }


def claims(table: Table) -> list[Claim]:
    """What the paper promises of its estimators, for its own settings and for the preset."""
    unbiased = "practical, unbiased estimators for both types of uncertainty"

    def column(task: str, candidate: str, measure: str) -> NDArray[Any]:
        return table[measure][(table["task"] == task) & (table["candidate"] == candidate)]

    measurements = [
        (f"{meaning}, {candidate}: {task}", column(task, candidate, measure), criterion)
        for task in TASKS
        for candidate in (PAPER, CALIBRATED)
        for meaning, measure, criterion in (
            ("aleatoric sd over the exact one, where there is noise", "noisy_ratio", between(0.9, 1.1)),
            ("aleatoric sd where there is none", "certain_sd", below(0.3)),
        )
    ]
    measurements += [
        (
            f"error of the aleatoric sd, paper less calibrated: {task}",
            column(task, PAPER, "aleatoric_error") - column(task, CALIBRATED, "aleatoric_error"),
            above(0),
        )
        for task in TASKS
        if len(column(task, PAPER, "seed")) and len(column(task, CALIBRATED, "seed"))
    ]
    return [
        claim(name, paper=unbiased, **mean_estimate(values)._asdict(), criterion=criterion)
        for name, values, criterion in measurements
        if len(values)
    ]


EXPERIMENT = SweptExperiment(
    name="calibration",
    title="Calibration: settings under which both uncertainties are right",
    intervals="95 % over seeds",
    tables=("data",),
    config=Config,
    run=run,
)
