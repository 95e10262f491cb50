"""Runs as processes on this machine, each pinned to a core of its own."""

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from surefoot.errors import require_whole_number
from surefoot.system.cores import available_cores, reserve_core


class LocalWorker:
    """A process on a reserved core; it saves and exits when the process that started it ends in any way."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        with ExitStack() as stack:
            core = stack.enter_context(reserve_core())
            self._process = start_attached([*arguments, "--core", str(core)], log)
            self._reservation = stack.pop_all()

    def exit_code(self) -> int | None:
        """The exit code, None while the process runs; its core is free afterwards."""
        code = self._process.poll()
        if code is not None:
            self._reservation.close()
            if self._process.stdin is not None:
                self._process.stdin.close()
        return code

    def stop(self) -> None:
        """Send SIGTERM, at which the process saves and exits."""
        self._process.terminate()


class LocalEngine:
    """Processes on this machine: one per core, or `jobs` at once."""

    def __init__(self, jobs: int | None = None) -> None:
        self.slots = len(available_cores()) if jobs is None else require_whole_number("jobs", jobs, 1)

    def start(self, arguments: list[str], log: Path) -> LocalWorker:
        """Start a process on a core that no run of any sweep of this user's holds, if there is one."""
        return LocalWorker(arguments, log)

    def close(self) -> None:
        """Do nothing: this engine holds nothing."""


def start_attached(arguments: list[str], log: Path) -> "subprocess.Popen[bytes]":
    """Start `surefoot` so that it saves and exits when this process, which holds its standard input, ends."""
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "surefoot", *arguments, "--attached"],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches only this process, which then stops the others once.
        )
