"""Runs a plan: what is done is not repeated, what was interrupted is resumed, and failures stop no others."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from surefoot.errors import UserError
from surefoot.runs import directory
from surefoot.sweeps.engine import Engine, Worker
from surefoot.sweeps.ledger import Ledger
from surefoot.sweeps.plan import PlannedRun
from surefoot.system.locks import lock_at
from surefoot.text import error_line

RUNS, LOGS, LOCK = "runs", "logs", "sweep.lock"
IDENTIFYING_KEYS = ("env", "agent", "seed", "preset", "network", "optimiser", "normalise")
"""Keys of a run's configuration that, with the agent's settings, distinguish it from other runs."""
MAX_RESTARTS = 20
"""How often one call of `run_sweep` restarts a run that was killed."""
SIGNAL_EXIT_BASE = 128
"""An exit code above it is this number plus the signal at which a process stopped by itself."""
POLL_SECONDS = 0.1
"""Time between two checks of the workers."""


class Phase(StrEnum):
    """The state of a run in its sweep."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class RunStatus(NamedTuple):
    """A run with its phase, and with the reason if it failed."""

    run: PlannedRun
    phase: Phase
    reason: str = ""


ShowStatuses = Callable[[Sequence[RunStatus]], None]
"""Is called with the statuses of all runs at every check of the workers."""


def run_directory(sweep_dir: Path, run: PlannedRun) -> Path:
    """The directory of a run of a sweep."""
    return sweep_dir / RUNS / run.name


def run_sweep(
    plan: Sequence[PlannedRun],
    sweep_dir: Path,
    engine: Engine,
    *,
    show: ShowStatuses = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[RunStatus]:
    """Run what is not done yet, and return the status of every run.

    Once `stop` returns True, no more runs start, and those that are running save and exit.
    """
    sweep_dir = sweep_dir.absolute()  # Workers may have another working directory.
    lock = _lock(sweep_dir)
    try:
        return _Sweep(plan, sweep_dir, engine).run(show, stop)
    finally:
        lock.release()


def _lock(sweep_dir: Path) -> FileLock:
    """The lock of a sweep's directory, which is made if it does not exist; the caller releases the lock."""
    try:
        for part in (RUNS, LOGS):
            (sweep_dir / part).mkdir(parents=True, exist_ok=True)
        lock = lock_at(sweep_dir / LOCK)
        lock.acquire()
    except Timeout:
        raise UserError(f"{sweep_dir}: another sweep is running here, accepted: one at a time") from None
    except OSError as error:
        accepted = f"a directory to write to ({error.strerror})"
        raise UserError(f"out: got {sweep_dir}, accepted: {accepted}") from error
    return lock


class _Sweep:
    """The runs of a plan, from the moment when its directory is locked."""

    def __init__(self, plan: Sequence[PlannedRun], sweep_dir: Path, engine: Engine) -> None:
        self._sweep_dir, self._engine, self._ledger = sweep_dir, engine, Ledger(sweep_dir)
        self._ledger.record_plan(plan, self._begun_with)
        self._statuses = {run.name: RunStatus(run, self._first_phase(run)) for run in plan}
        self._queue = deque(each.run for each in self._statuses.values() if each.phase == Phase.WAITING)
        self._active: list[tuple[PlannedRun, Worker]] = []
        self._restarts = dict.fromkeys(self._statuses, 0)

    def _first_phase(self, run: PlannedRun) -> Phase:
        """Done if the run still exists, and its steps in the ledger or its checkpoint are enough."""
        last = directory.last_checkpoint(run_directory(self._sweep_dir, run))
        has_made_more = last is not None and directory.step_of(last) > run.steps
        done = has_made_more or self._ledger.steps_done(run.name) >= run.steps
        return Phase.DONE if done and self._has_begun(run) else Phase.WAITING

    def _has_begun(self, run: PlannedRun) -> bool:
        return (run_directory(self._sweep_dir, run) / directory.CONFIG).exists()

    def _begun_with(self, run: PlannedRun) -> Mapping[str, Any] | None:
        """The settings in a run's configuration that distinguish it from others; None if it has not begun."""
        if not self._has_begun(run):
            return None
        config = directory.read_config(run_directory(self._sweep_dir, run))
        identifying = {name: config[name] for name in IDENTIFYING_KEYS if name in config}
        return {**config.get("settings", {}), **identifying}

    def run(self, show: ShowStatuses, stop: Callable[[], bool]) -> list[RunStatus]:
        """Run until every run is done or has failed, or until all have stopped."""
        stopping = False
        while self._active or (self._queue and not stopping):
            if stop() and not stopping:
                stopping = True
                for _, worker in self._active:
                    worker.stop()
            self._collect()
            while not stopping and self._queue and len(self._active) < self._engine.slots:
                if not self._start_next():
                    break
            show(list(self._statuses.values()))
            time.sleep(POLL_SECONDS)
        show(list(self._statuses.values()))
        return list(self._statuses.values())

    def _start_next(self) -> bool:
        """Start the first run in the queue whose directory is not in use; returns whether there was one."""
        for _ in range(len(self._queue)):
            run = self._queue.popleft()
            path = run_directory(self._sweep_dir, run)
            if directory.is_locked(path):  # By a process of a sweep that was killed: it is about to exit.
                self._queue.append(run)
                continue
            self._start(run, path)
            return True
        return False

    def _start(self, run: PlannedRun, path: Path) -> None:
        if self._has_begun(run):
            arguments = ["--resume", str(path)]
        else:
            self._ledger.record_begun(run)
            arguments = [*run.arguments(), "--out", str(path)]
        try:
            worker = self._engine.start(["train", *arguments, "--steps", str(run.steps)], self._log(run))
        except OSError as error:
            self._fail(run, error_line(error))
            return
        self._active.append((run, worker))
        self._statuses[run.name] = RunStatus(run, Phase.RUNNING)

    def _collect(self) -> None:
        """Take note of the runs that have ended since the last check."""
        for run, worker in list(self._active):
            code = worker.exit_code()
            if code is None:
                continue
            self._active.remove((run, worker))
            if code == 0 and self._has_begun(run):
                self._ledger.record_done(run)
                self._statuses[run.name] = RunStatus(run, Phase.DONE)
            elif self._can_be_resumed(run, code) and self._restarts[run.name] < MAX_RESTARTS:
                self._restarts[run.name] += 1
                self._queue.append(run)
                self._statuses[run.name] = RunStatus(run, Phase.WAITING)
            else:
                self._fail(run, self._failure_reason(run, code))

    def _can_be_resumed(self, run: PlannedRun, code: int) -> bool:
        """Whether a run was killed, or found its directory in use by a process that is about to exit."""
        return _is_signalled(code) or directory.is_locked(run_directory(self._sweep_dir, run))

    def _failure_reason(self, run: PlannedRun, code: int) -> str:
        """Why a run is not started again: the last line of its log, unless it was killed."""
        if _is_signalled(code):
            number = abs(code) % SIGNAL_EXIT_BASE
            return f"killed {self._restarts[run.name] + 1} times, the last time by signal {number}"
        log = self._log(run)
        lines = (log.read_text(errors="replace") if log.exists() else "").strip().splitlines() or [""]
        return lines[-1].removeprefix("surefoot: ") or f"exit code {code}"

    def _fail(self, run: PlannedRun, reason: str) -> None:
        self._ledger.record_failed(run, reason)
        self._statuses[run.name] = RunStatus(run, Phase.FAILED, reason)

    def _log(self, run: PlannedRun) -> Path:
        return self._sweep_dir / LOGS / f"{run.name}.txt"


def _is_signalled(code: int) -> bool:
    """Whether a process with this exit code was killed, or stopped at a signal."""
    return code < 0 or code > SIGNAL_EXIT_BASE
