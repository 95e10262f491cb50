"""Figure 2: safe learning on the windy cliff, with four agents that differ in how they choose actions."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from surefoot.agents import qrdqn, uadqn
from surefoot.agents.presets import resolve_settings
from surefoot.envs import windy_cliff, windy_cliff_exact
from surefoot.experiments.base import (
    ExperimentConfig,
    Outcome,
    Sweep,
    SweptExperiment,
    Table,
)
from surefoot.experiments.cliff_claims import LABELS, NEUTRAL, QR_DQN, VARIANT_1, VARIANT_2, claims
from surefoot.figures import cliff as figure
from surefoot.runs.log_files import read_metrics
from surefoot.settings import bounded
from surefoot.sweeps.plan import PlannedRun
from surefoot.tables import stack_tables

PROBE_EVERY = 100
"""Steps between calls of the probe `look`."""
PATHS = ("none", "risky", "safe")
"""The kinds of paths to the goal; the log contains their positions in this tuple."""


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """Windy cliff: the settings of Figure 2."""

    seeds: int = bounded(30, at_least=1)
    """Independent runs of each agent."""
    steps: int = bounded(10_000, at_least=PROBE_EVERY)
    """Environment steps per run, one update each."""
    preset: Literal["paper", "released", "calibrated"] = "paper"
    """The paper's settings, its released code's, or those under which the uncertainties are right."""
    exploration: float = bounded(4.0, at_least=0)
    """Factor of the epistemic variance in Thompson sampling (beta). Only the released code has it."""


NETWORK = "mlp:100,100"

LEARNING_SETTINGS: dict[str, Any] = {
    "discount": 1.0,
    "learning_rate": 2e-3,
    "gain": 3.0,
    "batch_size": 64,
    "replay_capacity": 10_000,
    "learning_starts": 500,
    "target_period": 100,
}
"""Settings of all four agents."""

PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "paper": {"qrdqn": {}, "uadqn": {}},
    "released": {"qrdqn": qrdqn.RELEASED_SETTINGS, "uadqn": uadqn.RELEASED_SETTINGS},
    "calibrated": {
        "qrdqn": {**qrdqn.CALIBRATED_SETTINGS, **qrdqn.CALIBRATED_ON_VECTORS},
        "uadqn": {**uadqn.CALIBRATED_SETTINGS, **qrdqn.CALIBRATED_ON_VECTORS},
    },
}
"""Settings that differ from the paper's, by preset and agent; `calibrated` normalises observations too."""


def agent_settings(label: str, preset: str, exploration: float) -> tuple[str, dict[str, Any]]:
    """The name and the settings of an agent; the agents differ in action selection only."""
    of_preset = PRESETS[preset]
    if label == QR_DQN:
        epsilon = {"final_epsilon": 0.05, "final_epsilon_step": 2_000}
        return "qrdqn", {**LEARNING_SETTINGS, **of_preset["qrdqn"], **epsilon}
    common = {**LEARNING_SETTINGS, **of_preset["uadqn"], "exploration": exploration}
    action_selection: dict[str, dict[str, Any]] = {
        NEUTRAL: {},
        VARIANT_1: {"risk_aversion": 0.5, "aleatoric": "biased"},
        VARIANT_2: {"risk_aversion": 0.5},
    }
    return "uadqn", {**common, **action_selection[label]}


def planned_run(config: Config, label: str, seed: int) -> PlannedRun:
    """One training run of an agent; the probe `look` adds to its log."""
    agent, given = agent_settings(label, config.preset, config.exploration)
    # All settings are given, so that none depends on the preset for these observations.
    settings = asdict(resolve_settings(agent, "minatar", given))
    run = {
        "env": "surefoot/WindyCliff-v0",
        "agent": agent,
        "network": NETWORK,
        "normalise": config.preset == "calibrated",
        "seed": seed,
        "eval_every": 0,
        "log_every": PROBE_EVERY,
        "probe": f"{look.__module__}:{look.__name__}",
    }
    parts = [label.lower().replace(" ", "-"), config.preset, f"beta{config.exploration:g}", f"seed{seed}"]
    return PlannedRun(name="-".join(parts), steps=config.steps, settings={**run, **settings})


def look(model: Any) -> dict[str, float]:
    """The probe of these runs: beliefs at the start, and the path that the greedy policy takes."""
    observations = windy_cliff.observations()
    shape, flat = observations.shape[:-1], observations.reshape(-1, observations.shape[-1])
    aleatoric = np.asarray(model.beliefs(flat).aleatoric).reshape(*shape, -1)[0, 1, 0]
    actions = np.asarray(model.predict(flat)[0]).reshape(shape)
    return {
        "cliff/path": PATHS.index(windy_cliff_exact.path_kind(actions)),
        "cliff/aleatoric_right": aleatoric[windy_cliff.RIGHT],
        "cliff/aleatoric_up": aleatoric[windy_cliff.UP],
    }


def read_run(path: Path, label: str, seed: int, steps: int) -> Table:
    """A table from a run's log: falls so far, beliefs at the start, and the path of the greedy policy."""
    lines = [line for line in read_metrics(path) if line["step"] <= steps and line["step"] % PROBE_EVERY == 0]
    falls = np.array([line["info/fell"] for line in lines], int)
    blown = np.array([line["info/blown_off"] for line in lines], int)
    return {
        "agent": np.full(len(lines), label),
        "seed": np.full(len(lines), seed),
        "step": np.array([line["step"] for line in lines]),
        "wind_falls": blown,
        "step_falls": falls - blown,
        "path": np.array([PATHS[int(line["cliff/path"])] for line in lines]),
        "aleatoric_right": np.array([line["cliff/aleatoric_right"] for line in lines]),
        "aleatoric_up": np.array([line["cliff/aleatoric_up"] for line in lines]),
    }


def run(config: Config, sweep: Sweep) -> Outcome:
    """Train every agent with every seed, then check the claims and draw the figure."""
    plan = {
        (label, seed): planned_run(config, label, seed) for seed in range(config.seeds) for label in LABELS
    }
    paths = sweep(list(plan.values()))
    table = stack_tables(
        [
            read_run(paths[plan[label, seed].name], label, seed, config.steps)
            for label in LABELS
            for seed in range(config.seeds)
        ]
    )
    return Outcome(claims(table), {"data": table}, figure.draw(table, config.preset))


EXPERIMENT = SweptExperiment(
    name="cliff",
    title="Figure 2: safe learning on the windy cliff",
    intervals="95 % over seeds",
    tables=("data",),
    config=Config,
    run=run,
)
