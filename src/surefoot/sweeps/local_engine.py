"""Runs as processes of this machine, each pinned to a core of its own."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from surefoot.system.cores import reserve_core, available_cores
from surefoot.errors import require_whole_number


class LocalWorker:
    """A process with a core; it leaves in order when this one is gone, however that came about."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        with ExitStack() as stack:
            core = stack.enter_context(reserve_core())
            self._process = start_attached([*arguments, "--core", str(core)], log)
            self._core = stack.pop_all()

    def exit_code(self) -> int | None:
        """How it ended."""
        code = self._process.poll()
        if code is not None:
            self._core.close()
        return code

    def stop(self) -> None:
        """As a signal would."""
        self._process.terminate()


class LocalEngine:
    """One process per core, or as many as are asked for."""

    def __init__(self, jobs: int | None = None) -> None:
        self.slots = len(available_cores()) if jobs is None else require_whole_number("--jobs", jobs, 1)

    def start(self, arguments: list[str], log: Path) -> LocalWorker:
        """Begin on a core that is free, of other sweeps' runs too."""
        return LocalWorker(arguments, log)

    def close(self) -> None:
        """Nothing was taken."""


def start_attached(arguments: list[str], log: Path) -> "subprocess.Popen[bytes]":
    """`surefoot`, to stop in order when nobody holds its standard input any more."""
    with log.open("ab") as words:
        return subprocess.Popen(
            [sys.executable, "-m", "surefoot", *arguments, "--attached"],
            stdin=subprocess.PIPE,
            stdout=words,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # An interruption of this process is not theirs: they are asked once.
        )
