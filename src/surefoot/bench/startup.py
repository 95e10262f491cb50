"""What a user waits for before learning begins, and how much memory a run takes."""

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from surefoot.bench.timing import COMMAND
from surefoot.bench.surefoot_agents import GAME
from surefoot.envs import MINATAR_IDS
from surefoot.runs.log_files import METRICS
from surefoot.errors import UserError
from surefoot.text import error_line


class Start(NamedTuple):
    """Of `surefoot train` with UA-DQN on MinAtar."""

    cold_seconds: float
    """From the command to the log of the first learning step, nothing compiled yet."""
    cached_seconds: float
    """The same once programs are in the cache."""
    resident_bytes: int
    """The most that a run of the paper's settings took, replay and all."""


def run() -> Start:
    """Start the command twice with a cache of its own, then once more without, to learn and evaluate."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        cold, cached = (_seconds_to_learn(home, name) for name in ("cold", "cached"))
        return Start(cold, cached, _most_memory(home))


def _seconds_to_learn(home: Path, name: str) -> float:
    begun = time.perf_counter()
    metrics = home / name / METRICS
    with _train(home, name, cache="shared", steps=101, learning_starts=100) as process:
        while not (metrics.exists() and metrics.stat().st_size):
            _require_well(process, process.poll() in {None, 0})
            time.sleep(0.02)
        seconds = time.perf_counter() - begun
        _require_well(process, process.wait() == 0)
    return seconds


def _most_memory(home: Path) -> int:
    """Bytes, from the first import to the end; the peak of a process that starts another is not counted."""
    most = 0
    with _train(home, "memory", cache="own", steps=7_000, learning_starts=5_000) as process:
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text(errors="replace")
            peaks = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
            most = max([most, *peaks])
            time.sleep(0.05)
        _require_well(process, process.returncode == 0)
    return most * 1024


def _require_well(process: "subprocess.Popen[str]", well: bool) -> None:
    if not well:
        process.kill()
        raise UserError(f"bench: surefoot train failed ({error_line(RuntimeError(process.communicate()[1]))})")


def _train(home: Path, name: str, *, cache: str, steps: int, learning_starts: int) -> "subprocess.Popen[str]":
    arguments = {
        "--env": MINATAR_IDS[GAME],
        "--agent": "uadqn",
        "--steps": str(steps),
        "--learning-starts": str(learning_starts),
        "--log-every": "101",
        "--eval-every": "6000",
        "--out": str(home / name),
    }
    command = [*COMMAND, "train", *(word for pair in arguments.items() for word in pair)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(home / cache)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
