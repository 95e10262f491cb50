"""What checkpoints cost on MinAtar, with a full replay of 100,000 transitions."""

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot.bench.surefoot_agents import GAME, filled
from surefoot.envs import MINATAR_IDS
from surefoot.model import MODELS

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


def run(agent: str, *, rounds: int = 5, steps: int = 500) -> Cost:
    """Train for a while, then save a few times with the replay full."""
    model = MODELS[agent](MINATAR_IDS[GAME], learning_starts=100, target_period=1_000)
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
    live_run = model._live_run
    train = live_run._state.train
    live_run._state = live_run._state._replace(train=train._replace(replay=filled(train.replay)))
