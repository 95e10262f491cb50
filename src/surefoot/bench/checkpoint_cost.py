"""The cost of checkpoints on MinAtar, with a full replay of 100,000 transitions."""

import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from surefoot.bench.surefoot_agents import GAME, fill_replay
from surefoot.envs import MINATAR_IDS
from surefoot.model import MODELS

INTERVAL = 10_000
"""Steps between checkpoints, the default of `learn`."""


class CheckpointCost(NamedTuple):
    """The cost of the checkpoints of one agent."""

    agent: str
    steps_per_second: float
    seconds: float
    """Seconds that one checkpoint takes, the median."""
    size: int
    """Size of a checkpoint in bytes."""

    @property
    def fraction(self) -> float:
        """Fraction of wall time that checkpoints take."""
        return self.seconds / (self.seconds + INTERVAL / self.steps_per_second)


def run(agent: str, *, rounds: int = 5, steps: int = 500) -> CheckpointCost:
    """Measure the speed of training, then the time to save with a full replay."""
    model = MODELS[agent](MINATAR_IDS[GAME], learning_starts=100, target_period=1_000)
    model.learn(300, progress=False)
    start = time.perf_counter()
    model.learn(steps, log_every=10_000, progress=False)
    speed = steps / (time.perf_counter() - start)
    _fill(model)
    seconds: list[float] = []
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as home:
        path = Path(home) / "checkpoint"
        for _ in range(rounds):
            start = time.perf_counter()
            model.save(path, overwrite=True)
            seconds.append(time.perf_counter() - start)
        size = sum(file.stat().st_size for file in path.iterdir())
    return CheckpointCost(agent, speed, float(np.median(seconds)), size)


def _fill(model: Any) -> None:
    live_run = model._live_run
    train = live_run._state.train
    live_run._state = live_run._state._replace(train=train._replace(replay=fill_replay(train.replay)))
