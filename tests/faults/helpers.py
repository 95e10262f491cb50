"""Small runs, and what must be equal when two of them should be."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from surefoot.runs import directory
from tests import small_models
from tests.small_models import CLIFF

PLAN = {"log_every": 20, "eval_every": 30, "eval_episodes": 1, "checkpoint_every": 25, "progress": False}
FLAGS = [
    *small_models.FLAGS,
    *("--log-every", "20", "--eval-every", "30", "--eval-episodes", "1", "--checkpoint-every", "25"),
]
TINY_PLAN = f"""
[defaults]
env = "{CLIFF}"
agent = "dqn"
network = "mlp:8"
steps = 300
learning_starts = 50
batch_size = 8
replay_capacity = 200
eval_every = 0
log_every = 50
checkpoint_every = 100
"""
"""What all runs of a tiny sweep have in common; each has a seed of its own."""
ARRAYS = {"a": np.arange(3_000, dtype=np.float32), "b": np.ones((7, 5), bool)}
"""What a small checkpoint holds."""
WORKER = Path(__file__).with_name("worker.py")


def tiny_plan(directory, count, **settings):
    """A plan of so many runs, `seed0` and so on."""
    others = "\n".join(f"{name} = {json.dumps(value)}" for name, value in settings.items())
    path = directory / "plan.toml"
    path.write_text(f"{TINY_PLAN}\n[[runs]]\nname = 'seed{{seed}}'\nseed = {list(range(count))}\n{others}\n")
    return path


def command(*args, **environment):
    """A process that runs `surefoot` with these arguments."""
    return subprocess.Popen(
        [sys.executable, str(WORKER), *map(str, args)],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(process, timeout=120):
    """Exit code, standard output and standard error of a process that ends by itself."""
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def events_of(run):
    """TensorBoard's events: tag, step and value."""
    found = EventAccumulator(str(run / "tensorboard"))
    found.Reload()
    return {
        tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]
    }


def assert_same_run(one, other):
    """Parameters, replay, log and events are the same bit for bit."""
    ends = [directory.last_checkpoint(run) for run in (one, other)]
    assert ends[0].name == ends[1].name
    names = {path.name for path in ends[0].iterdir()}
    assert names == {path.name for path in ends[1].iterdir()}
    for name in sorted(names):
        assert (ends[0] / name).read_bytes() == (ends[1] / name).read_bytes(), name
    for name in ("metrics.jsonl", "episodes.csv"):
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    assert events_of(one) == events_of(other)
    best = [directory.best_checkpoint(run) for run in (one, other)]
    if best[0] is None:
        assert best[1] is None
        return
    assert best[0].name == best[1].name
    assert (best[0] / "learner.safetensors").read_bytes() == (best[1] / "learner.safetensors").read_bytes()
