"""The ledger of a sweep: what was planned, begun, done, what failed. It only grows."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from surefoot.system.disk import disk_error, write_all
from surefoot.sweeps.plan import PlannedRun
from surefoot.errors import UserError

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
        if line["event"] == "begun":
            self._done.pop(line["run"], None)
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

    def plan(
        self, runs: Iterable[PlannedRun], begun_with: Callable[[PlannedRun], Mapping[str, Any] | None]
    ) -> None:
        """Take in a plan, or an extended one: new runs, more steps; a run that is begun stays what it is.

        `begun_with` gives settings as a run itself has them on disk, None where it is not begun.
        """
        for run in runs:
            settings = json.loads(json.dumps(run.settings))
            known = self._settings.get(run.name)
            if known == settings:
                continue
            said = begun_with(run)
            if said is not None:
                # A ledger that is lost does not make another run of this one.
                before = {**settings, **{name: said[name] for name in settings if name in said}}
                _require_same(run.name, before if known is None else known, settings)
            self._write(event="planned", run=run.name, settings=settings)

    def begun(self, run: PlannedRun) -> None:
        """A run starts from nothing, whatever was there before."""
        self._write(event="begun", run=run.name)

    def done(self, run: PlannedRun) -> None:
        """A run is carried out to its end."""
        self._write(event="done", run=run.name, steps=run.steps)

    def failed(self, run: PlannedRun, why: str) -> None:
        """A run ended with an error."""
        self._write(event="failed", run=run.name, steps=run.steps, why=why)


def _require_same(run: str, known: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    changed = sorted(name for name in {*known, *settings} if known.get(name) != settings.get(name))
    if changed:
        raise UserError(
            f"{run}: {', '.join(changed)} is not what this sweep began with, "
            "accepted: another name for another run, or a new directory"
        )
