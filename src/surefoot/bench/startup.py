"""How long `surefoot train` takes to start learning, and how much memory a run needs."""

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from surefoot.bench.surefoot_agents import GAME
from surefoot.bench.timing import COMMAND
from surefoot.envs import MINATAR_IDS
from surefoot.errors import UserError
from surefoot.runs.log_files import METRICS
from surefoot.text import single_line


class StartupCost(NamedTuple):
    """Start-up time and memory of `surefoot train` with UA-DQN on MinAtar."""

    cold_seconds: float
    """From the start of the command to the log entry of the first update, with an empty cache."""
    cached_seconds: float
    """From the start to the first update, with the compiled programs in the cache."""
    resident_bytes: int
    """Peak resident memory of a run with the paper's settings."""


def run() -> StartupCost:
    """Start the command twice with one new cache; then run it once more, with learning and evaluation."""
    with tempfile.TemporaryDirectory() as temporary:
        home = Path(temporary)
        cold, cached = (_seconds_to_learn(home, name) for name in ("cold", "cached"))
        return StartupCost(cold, cached, _peak_memory(home))


def _seconds_to_learn(home: Path, name: str) -> float:
    start = time.perf_counter()
    metrics = home / name / METRICS
    with _train(home, name, cache="shared", steps=101, learning_starts=100) as process:
        while not (metrics.exists() and metrics.stat().st_size):
            _require_success(process, process.poll() in {None, 0})
            time.sleep(0.02)
        seconds = time.perf_counter() - start
        _require_success(process, process.wait() == 0)
    return seconds


def _peak_memory(home: Path) -> int:
    """Peak resident memory of the command in bytes, read from /proc while it runs."""
    peak = 0
    with _train(home, "memory", cache="own", steps=7_000, learning_starts=5_000) as process:
        while process.poll() is None:
            status = Path(f"/proc/{process.pid}/status").read_text(errors="replace")
            peaks = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")]
            peak = max([peak, *peaks])
            time.sleep(0.05)
        _require_success(process, process.returncode == 0)
    return peak * 1024


def _require_success(process: "subprocess.Popen[str]", success: bool) -> None:
    if not success:
        process.kill()
        raise UserError(f"bench: surefoot train failed ({single_line(process.communicate()[1])})")


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
    command = [*COMMAND, "train", *(part for pair in arguments.items() for part in pair)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(home / cache)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
