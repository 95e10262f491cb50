"""The ledger of a sweep: what was planned, what is done, what failed. It only grows."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from surefoot.runs.disk import disk_error, write_all
from surefoot.sweeps.plan import PlannedRun
from surefoot.types import UserError

LEDGER = "ledger.jsonl"


class Ledger:
    """What is known of the runs of a sweep, on disk before it counts."""

    def __init__(self, home: Path) -> None:
        self._path = home / LEDGER
        self._settings: dict[str, Mapping[str, Any]] = {}
        self._done: dict[str, int] = {}
        self._read()

    def _read(self) -> None:
        """Take in all whole lines; what a crash left of a last one is cut off."""
        if not self._path.exists():
            return
        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise UserError(f"{self._path}: not readable ({error.strerror})") from error
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            os.truncate(self._path, len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self._take(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{self._path}: damaged in line {number}, accepted: JSON lines") from error

    def _take(self, line: Mapping[str, Any]) -> None:
        if line["event"] == "planned":
            self._settings[line["run"]] = line["settings"]
        if line["event"] == "done":
            self._done[line["run"]] = max(line["steps"], self.steps_done(line["run"]))

    def _write(self, **line: Any) -> None:
        data = (json.dumps(line) + "\n").encode()
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            before = os.fstat(handle).st_size
            try:
                write_all(handle, data)
                os.fsync(handle)
            except OSError:
                os.truncate(handle, before)  # No part of a line for the next to stand behind.
                raise
            finally:
                os.close(handle)
        except OSError as error:
            raise disk_error(str(self._path), len(data), self._path.parent, error) from error
        self._take(line)

    def steps_done(self, name: str) -> int:
        """Steps that a run was carried out for to their end."""
        return self._done.get(name, 0)

    def plan(self, runs: Iterable[PlannedRun], is_begun: Callable[[PlannedRun], bool]) -> None:
        """Take in a plan, or an extended one: new runs, more steps; a run that is begun stays what it is."""
        for run in runs:
            settings = json.loads(json.dumps(run.settings))
            known = self._settings.get(run.name)
            if known == settings:
                continue
            if known is None or not is_begun(run):
                self._write(event="planned", run=run.name, settings=settings)
            else:
                changed = sorted(
                    name for name in {*known, *settings} if known.get(name) != settings.get(name)
                )
                raise UserError(
                    f"{run.name}: {', '.join(changed)} is not what this sweep began with, "
                    "accepted: another name for another run, or a new directory"
                )

    def done(self, run: PlannedRun) -> None:
        """A run is carried out to its end."""
        self._write(event="done", run=run.name, steps=run.steps)

    def failed(self, run: PlannedRun, why: str) -> None:
        """A run ended with an error."""
        self._write(event="failed", run=run.name, steps=run.steps, why=why)
