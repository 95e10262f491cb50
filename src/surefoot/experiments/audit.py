"""The audit on the windy cliff, where truth is exact: which settings and which estimators are right.

Risk-neutral UA-DQN walks the ledge. At every look its beliefs are compared with dynamic programming for its
own greedy policy.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.audit import exact
from surefoot.claims import Claim, above, between, claim, exact_claim
from surefoot.envs import windy_cliff_exact
from surefoot.experiments import cliff
from surefoot.experiments.base import (
    ExperimentConfig,
    Outcome,
    Sweep,
    SweptExperiment,
    chosen_names,
    names_from,
)
from surefoot.experiments.cliff_claims import LATE_STEPS, NEUTRAL, RISKY_POLICY
from surefoot.figures import audit_cliff as figure
from surefoot.runs.log_files import read_metrics
from surefoot.settings import bounded
from surefoot.statistics import mean_estimate
from surefoot.sweeps.plan import PlannedRun
from surefoot.tables import Table, stack_tables

PAPER, CALIBRATED, OWN = "paper", "calibrated", "calibrated, own targets"
CANDIDATES = (PAPER, CALIBRATED, OWN)
"""Settings by name; the last one has networks with targets of their own beside those that share them."""
SHORT_NAMES: dict[str, str] = {"paper": PAPER, "calibrated": CALIBRATED, "own": OWN}
"""The same as arguments."""
MEASURES = (
    "mean_error",
    "coverage",
    *(f"{what}_{name}" for what in ("error", "ledge") for name in exact.ESTIMATORS),
)


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """The audit's exact part on the windy cliff."""

    seeds: int = bounded(10, at_least=1)
    """Independent runs with each of the settings."""
    steps: int = bounded(10_000, at_least=cliff.PROBE_EVERY)
    """Environment steps per run, one update each."""
    candidates: str = names_from(",".join(SHORT_NAMES), SHORT_NAMES)
    """Settings to compare, with commas between: paper, calibrated, own (calibrated with own targets)."""


def planned_run(config: Config, candidate: str, seed: int) -> PlannedRun:
    """A run of the risk-neutral agent as `reproduce cliff` has it, but with the audit's probe."""
    preset = PAPER if candidate == PAPER else CALIBRATED
    plan = cliff.planned_run(cliff.Config(steps=config.steps, preset=preset), NEUTRAL, seed)
    settings: dict[str, Any] = {
        **plan.settings,
        "probe": f"{exact.look.__module__}:{exact.look.__name__}",
        **({"targets": "own"} if candidate == OWN else {}),
    }
    name = "-".join(["audit", *candidate.replace(",", "").split(), f"seed{seed}"])
    return replace(plan, name=name, settings=settings)


def read_run(path: Path, candidate: str, seed: int, steps: int) -> Table:
    """A table from a run's log; an estimator that a run has not is NaN."""
    lines = [
        line for line in read_metrics(path) if line["step"] <= steps and line["step"] % cliff.PROBE_EVERY == 0
    ]
    return {
        "candidate": np.full(len(lines), candidate),
        "seed": np.full(len(lines), seed),
        "step": np.array([line["step"] for line in lines]),
        **{
            measure: np.array([line.get(f"audit/{measure}", np.nan) for line in lines], float)
            for measure in MEASURES
        },
    }


def run(config: Config, sweep: Sweep) -> Outcome:
    """Train with all settings and seeds, then check the claims and draw the figure."""
    names = [SHORT_NAMES[each] for each in chosen_names("candidates", config.candidates, SHORT_NAMES)]
    keys = [(name, seed) for name in names for seed in range(config.seeds)]
    plan = {key: planned_run(config, *key) for key in keys}
    paths = sweep(list(plan.values()))
    table = stack_tables([read_run(paths[plan[key].name], *key, config.steps) for key in keys])
    return Outcome(claims(table), {"data": table}, figure.draw(table))


def claims(table: Table) -> list[Claim]:
    """What the audit asks of an agent, with exact truth, over seeds."""
    exact_sd = float(windy_cliff_exact.exact_returns(RISKY_POLICY).sd[0, 1, 0])
    unbiased = "practical, unbiased estimators for both types of uncertainty"
    late = table["step"] > table["step"].max() - LATE_STEPS

    def of_seeds(candidate: str, measure: str) -> NDArray[Any]:
        rows = late & (table["candidate"] == candidate)
        seeds = np.unique(table["seed"][rows])
        return np.array([table[measure][rows & (table["seed"] == seed)].mean() for seed in seeds])

    measurements: list[tuple[str, NDArray[Any], Any]] = []
    for candidate in dict.fromkeys(table["candidate"].tolist()):
        measurements += [
            (
                f"aleatoric sd of stepping onto the ledge, {candidate}",
                of_seeds(candidate, f"ledge_{exact.UNBIASED}"),
                between(0.9 * exact_sd, 1.1 * exact_sd),
            ),
            (
                f"coverage of the central 80% interval, {candidate}",
                of_seeds(candidate, "coverage"),
                between(0.7, 0.9),
            ),
        ]
    if OWN in table["candidate"]:
        independent, shared = (of_seeds(OWN, f"error_{name}") for name in (exact.INDEPENDENT, exact.UNBIASED))
        measurements.append(
            ("error of the sd: independent targets less shared", independent - shared, above(0))
        )
    return [
        exact_claim(
            "exact sd of the return along the ledge",
            paper="the expectation value of the returns of the risky trajectory is 4.8",
            measured=exact_sd,
            criterion=between(2.8, 2.81),
        ),
        *(
            claim(name, paper=unbiased, **mean_estimate(values)._asdict(), criterion=criterion)
            for name, values, criterion in measurements
        ),
    ]


EXPERIMENT = SweptExperiment(
    name="audit",
    title="Audit: aleatoric uncertainty on the windy cliff, against exact returns",
    intervals="95 % over seeds",
    tables=("data",),
    config=Config,
    run=run,
)
