"""The first 2,000 steps of every agent, compiled and hosted, in double precision.

Double precision makes the results independent of the processor: rounding errors of 1e-16 do not grow to a
different action within so few steps.
"""

import json
from pathlib import Path

import jax
import numpy as np

import surefoot

STEPS, LOG_EVERY = 2_000, 200
ENVIRONMENTS = {"compiled": "surefoot/WindyCliff-v0", "hosted": "CartPole-v1"}
AGENTS = {
    "dqn": surefoot.DQN,
    "qrdqn": surefoot.QRDQN,
    "bootstrapped": surefoot.BootstrappedDQN,
    "uadqn": surefoot.UADQN,
}
RUNS = {f"{agent}-{driver}": (agent, driver) for agent in AGENTS for driver in ENVIRONMENTS}
FORMER_DEFAULTS = {
    "levels": "paper",
    "kappa": 1.0,
    "prior_scale": "weights",
    "auxiliary_networks": 2,
    "target_period": 100,
}
"""Settings of UA-DQN on vectors when the files were made."""
WITHOUT_ORIGIN = {"version", "revision", "device"}
"""Keys of config.json that say who made the run."""


def seeded_run(name: str, directory: Path) -> None:
    """Trains one agent and keeps its configuration, metrics, episodes and a summary of its parameters."""
    agent, driver = RUNS[name]
    settings = {"risk_aversion": 0.5, "quantiles": 8, **FORMER_DEFAULTS} if agent == "uadqn" else {}
    model = AGENTS[agent](
        ENVIRONMENTS[driver],
        network="mlp:16,16",
        normalise=driver == "hosted",
        seed=3,
        learning_starts=300,
        batch_size=16,
        replay_capacity=1_000,
        **settings,
    )
    run = directory / "run"
    model.learn(STEPS, out=run, log_every=LOG_EVERY, progress=False)
    obs = np.asarray(model.observation_space.sample(), float) * 0 + 0.5
    config = json.loads((run / "config.json").read_text())
    kept = {
        "config.json": json.dumps({k: v for k, v in config.items() if k not in WITHOUT_ORIGIN}, indent=1),
        "metrics.jsonl": (run / "metrics.jsonl").read_text(),
        "episodes.csv": (run / "episodes.csv").read_text(),
        "beliefs.json": json.dumps(
            {
                field: None if values is None else np.asarray(values, float).ravel().tolist()
                for field, values in model.beliefs(obs.astype(np.float32))._asdict().items()
            }
        ),
    }
    for file, text in kept.items():
        (directory / file).write_text(text)
    assert jax.config.values["jax_enable_x64"]
