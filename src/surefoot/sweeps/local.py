"""Runs as processes of this machine, each pinned to a core of its own."""

import subprocess
import sys
from pathlib import Path

from surefoot.runs.cores import available_cores
from surefoot.types import whole_number


class LocalWorker:
    """A process; it leaves in order when this one is gone, however that came about."""

    def __init__(self, arguments: list[str], log: Path) -> None:
        self._process = start_attached(arguments, log)

    def exit_code(self) -> int | None:
        """How it ended."""
        return self._process.poll()

    def stop(self) -> None:
        """As a signal would."""
        self._process.terminate()


class LocalEngine:
    """One process per core, or as many as are asked for."""

    def __init__(self, jobs: int | None = None) -> None:
        cores = available_cores()
        self.slots = len(cores) if jobs is None else whole_number("--jobs", jobs, 1)
        self._cores = [cores[slot % len(cores)] for slot in range(self.slots)]
        self._workers: dict[int, LocalWorker] = {}

    def start(self, arguments: list[str], log: Path) -> LocalWorker:
        """Begin in the first slot that is free."""
        slot = next(slot for slot in range(self.slots) if self._is_free(slot))
        pinned = [*arguments, "--core", str(self._cores[slot])]
        worker = self._workers[slot] = LocalWorker(pinned, log)
        return worker

    def _is_free(self, slot: int) -> bool:
        return slot not in self._workers or self._workers[slot].exit_code() is not None

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
