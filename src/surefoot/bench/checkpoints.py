"""What checkpoints cost on MinAtar's sizes, with a full replay of 100,000 transitions."""

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array

from surefoot.model import MODELS
from surefoot.types import Action, Environment, EnvironmentStep, RandomKey

IMAGE, ACTIONS = (10, 10, 4), 6
INTERVAL = 10_000
"""Steps between checkpoints, as `learn` has it by default."""


class Cost(NamedTuple):
    """What one agent's checkpoints cost."""

    agent: str
    steps_per_second: float
    seconds: float
    """Of one checkpoint, the median."""
    size: int
    """Bytes."""

    @property
    def fraction(self) -> float:
        """Part of wall time."""
        return self.seconds / (self.seconds + INTERVAL / self.steps_per_second)


def noise() -> Environment:
    """Pictures of chance, as large as MinAtar's."""

    def picture(key: RandomKey) -> Array:
        return jax.random.bernoulli(key, 0.1, IMAGE)

    def reset(key: RandomKey) -> tuple[Array, Array]:
        return jnp.zeros((), jnp.int32), picture(key)

    def step(state: Array, action: Action, key: RandomKey) -> EnvironmentStep:
        del action
        no = jnp.zeros((), bool)
        return EnvironmentStep(state + 1, picture(key), jnp.ones(()), state % 50 == 49, no, {})

    bits = Box(0, 1, IMAGE, bool)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return Environment(reset, step, bits, Discrete(ACTIONS))


def run(agent: str, *, rounds: int = 5, steps: int = 500) -> Cost:
    """Train for a while, then save a few times with the replay full."""
    model = MODELS[agent](noise(), learning_starts=100, target_period=1_000)
    model.learn(300, progress=False)
    begun = time.perf_counter()
    model.learn(steps, log_every=10_000, progress=False)
    speed = steps / (time.perf_counter() - begun)
    _fill(model)
    seconds: list[float] = []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as home:
        path = Path(home) / "checkpoint"
        for _ in range(rounds):
            begun = time.perf_counter()
            model.save(path, overwrite=True)
            seconds.append(time.perf_counter() - begun)
        size = sum(file.stat().st_size for file in path.iterdir())
    return Cost(agent, speed, float(np.median(seconds)), size)


def _fill(model: Any) -> None:
    """Fill the rest of the replay: what is in it does not matter, only that it is full."""
    trainer = model._trainer
    run = trainer._state.run
    keys = iter(jax.random.split(jax.random.key(0), 2))
    pictures = {
        name: jax.random.bernoulli(next(keys), 0.1, (run.replay.capacity, *IMAGE))
        for name in ("obs", "next_obs")
    }
    full = run.replay._replace(
        storage=run.replay.storage._replace(**pictures), added=jnp.asarray(run.replay.capacity, jnp.int32)
    )
    trainer._state = trainer._state._replace(run=run._replace(replay=full))
