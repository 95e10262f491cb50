"""What a user waits for before learning begins, and how much memory a run takes."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from surefoot.bench.ours import GAME
from surefoot.envs import MINATAR_IDS
from surefoot.runs.log import METRICS

COMMAND = (sys.executable, "-c", "from surefoot.cli import main; main()")
LONGEST = 300.0
"""Seconds that a run may take to begin."""


class Start(NamedTuple):
    """Of `surefoot train` with UA-DQN on MinAtar."""

    cold_seconds: float
    """From the command to the log of the first learning step, nothing compiled yet."""
    cached_seconds: float
    """The same once programs are in the cache."""
    resident_bytes: int
    """The most that a run of the paper's settings took, replay and all."""


def run() -> Start:
    """Start the command twice with a cache of its own, then let it learn for a while."""
    with tempfile.TemporaryDirectory() as home:
        cold, cached = (_seconds_to_learn(Path(home), name) for name in ("cold", "cached"))
        process = _train(Path(home), "memory", steps=7_000, learning_starts=5_000)
        _, code, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(code)
        return Start(cold, cached, usage.ru_maxrss * 1024)


def _seconds_to_learn(home: Path, name: str) -> float:
    begun = time.perf_counter()
    process = _train(home, name, steps=101, learning_starts=100)
    metrics = home / name / METRICS
    while not (metrics.exists() and metrics.stat().st_size) and time.perf_counter() < begun + LONGEST:
        time.sleep(0.02)
    seconds = time.perf_counter() - begun
    process.wait(LONGEST)
    return seconds


def _train(home: Path, name: str, *, steps: int, learning_starts: int) -> "subprocess.Popen[bytes]":
    arguments = {
        "--env": MINATAR_IDS[GAME],
        "--agent": "uadqn",
        "--steps": str(steps),
        "--learning-starts": str(learning_starts),
        "--log-every": "101",
        "--eval-every": "100000",
        "--out": str(home / name),
    }
    command = [*COMMAND, "train", *(word for pair in arguments.items() for word in pair)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(home / "cache")}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
