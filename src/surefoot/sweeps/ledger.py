"""The ledger of a sweep: which runs were planned, begun, done, and failed. Lines are only ever appended."""

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from surefoot.errors import UserError
from surefoot.sweeps.plan import PlannedRun
from surefoot.sweeps.settings_comparison import changed_settings, settings_on_disk
from surefoot.system.disk import disk_error, write_all

LEDGER = "ledger.jsonl"


class Ledger:
    """The state of the runs of a sweep; every change is on disk before it takes effect."""

    def __init__(self, sweep_dir: Path) -> None:
        self._path = sweep_dir / LEDGER
        self._settings: dict[str, Mapping[str, Any]] = {}
        self._steps_done: dict[str, int] = {}
        self._read()

    def _read(self) -> None:
        """Read all complete lines; an incomplete last one, which a crash leaves, is cut off."""
        if not self._path.exists():
            return
        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise UserError(f"{self._path}: not readable ({error.strerror})") from error
        complete = data[: data.rfind(b"\n") + 1]
        if len(complete) < len(data):
            os.truncate(self._path, len(complete))
        for number, line in enumerate(complete.splitlines(), 1):
            try:
                self._apply(json.loads(line))
            except (ValueError, KeyError, TypeError) as error:
                raise UserError(f"{self._path}: damaged in line {number}, accepted: JSON lines") from error

    def _apply(self, line: Mapping[str, Any]) -> None:
        if line["event"] == "planned":
            self._settings[line["run"]] = line["settings"]
        if line["event"] == "begun":
            self._steps_done.pop(line["run"], None)
        if line["event"] == "done":
            self._steps_done[line["run"]] = max(line["steps"], self.steps_done(line["run"]))

    def _append(self, **line: Any) -> None:
        data = (json.dumps(line) + "\n").encode()
        try:
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            before = os.fstat(handle).st_size
            try:
                write_all(handle, data)
                os.fsync(handle)
            except OSError:
                os.truncate(handle, before)  # The next line must not follow a part of this one.
                raise
            finally:
                os.close(handle)
        except OSError as error:
            raise disk_error(str(self._path), len(data), self._path.parent, error) from error
        self._apply(line)

    def steps_done(self, name: str) -> int:
        """The number of steps after which a run was done; 0 if it never was."""
        return self._steps_done.get(name, 0)

    def record_plan(
        self, runs: Iterable[PlannedRun], begun_with: Callable[[PlannedRun], Mapping[str, Any] | None]
    ) -> None:
        """Record a plan, or one with more runs or steps; a run that has begun must keep its settings.

        `begun_with` returns the settings in the configuration of a run on disk, None if it has not begun.
        """
        for run in runs:
            settings = json.loads(json.dumps(run.settings))
            before = self._settings.get(run.name)
            if before == settings:
                continue
            on_disk = begun_with(run)
            if on_disk is not None:
                if before is None:  # The ledger is lost, but the run's own configuration is there.
                    before = settings_on_disk(settings, on_disk)
                _require_unchanged(run.name, before, settings)
            self._append(event="planned", run=run.name, settings=settings)

    def record_begun(self, run: PlannedRun) -> None:
        """Record that a run starts from its first step, even if it was done before."""
        self._append(event="begun", run=run.name)

    def record_done(self, run: PlannedRun) -> None:
        """Record that a run has made all its steps."""
        self._append(event="done", run=run.name, steps=run.steps)

    def record_failed(self, run: PlannedRun, reason: str) -> None:
        """Record that a run ended with an error."""
        self._append(event="failed", run=run.name, steps=run.steps, why=reason)


def _require_unchanged(run: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    changed = changed_settings(before, now)
    if changed:
        raise UserError(
            f"{run}: {', '.join(changed)} is not what this sweep began with, "
            "accepted: another name for another run, or a new directory"
        )


def planned_names(sweep_dir: Path) -> list[str]:
    """The names of a sweep's runs in the order of its plan, from the lines that can be read."""
    names: list[str] = []
    for line in (sweep_dir / LEDGER).read_text(errors="replace").splitlines():
        with suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            names += [str(entry["run"])] if entry["event"] == "planned" else []
    return list(dict.fromkeys(names))
