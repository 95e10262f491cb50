"""Carrying out a plan: what is done stays done, what was stopped goes on, what fails stops nobody else."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from surefoot.runs import directory
from surefoot.system.locks import lock_at
from surefoot.sweeps.engine import Engine, Worker
from surefoot.sweeps.ledger import Ledger
from surefoot.sweeps.plan import PlannedRun
from surefoot.errors import UserError
from surefoot.text import error_line

RUNS, LOGS, LOCK = "runs", "logs", "sweep.lock"
WHO_LEARNS_WHAT = ("env", "agent", "seed", "preset", "network", "normalise")
"""In a run's configuration, beside the agent's settings."""
MOST_DEATHS = 20
"""How often a run may be killed and begun again in one go of the sweep."""
SIGNALLED = 128
"""Above it, exit codes say by which signal a process left in order."""
PAUSE = 0.1
"""Seconds between two looks at the workers."""


class Phase(StrEnum):
    """Where a run is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Status(NamedTuple):
    """A run, where it is, and why it failed."""

    run: PlannedRun
    phase: Phase
    why: str = ""


Show = Callable[[Sequence[Status]], None]
"""Gets all runs, again and again."""


def path_of(home: Path, run: PlannedRun) -> Path:
    """Where a run of a sweep is kept."""
    return home / RUNS / run.name


def run_sweep(
    plan: Sequence[PlannedRun],
    home: Path,
    engine: Engine,
    *,
    show: Show = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> list[Status]:
    """Run what is not done yet; how all runs ended. After a stop, those under way have saved and left."""
    home = home.absolute()  # Workers are elsewhere.
    lock = _hold(home)
    try:
        return _Sweep(plan, home, engine).run(show, stop)
    finally:
        lock.release()


def _hold(home: Path) -> FileLock:
    try:
        for part in (RUNS, LOGS):
            (home / part).mkdir(parents=True, exist_ok=True)
        lock = lock_at(home / LOCK)
        lock.acquire()
    except Timeout:
        raise UserError(f"{home}: another sweep is under way here, accepted: one at a time") from None
    except OSError as error:
        raise UserError(f"--out: got {home}, accepted: a directory to write to ({error.strerror})") from error
    return lock


class _Sweep:
    def __init__(self, plan: Sequence[PlannedRun], home: Path, engine: Engine) -> None:
        self._home, self._engine, self._ledger = home, engine, Ledger(home)
        self._ledger.plan(plan, self._begun_with)
        self._status = {run.name: Status(run, self._phase_of(run)) for run in plan}
        self._queue = deque(each.run for each in self._status.values() if each.phase == Phase.WAITING)
        self._active: list[tuple[PlannedRun, Worker]] = []
        self._deaths = dict.fromkeys(self._status, 0)

    def _phase_of(self, run: PlannedRun) -> Phase:
        """What the ledger says, if the run is still there; one that went further is done as well."""
        last = directory.last_checkpoint(path_of(self._home, run))
        further = last is not None and directory.step_of(last) > run.steps
        done = further or self._ledger.steps_done(run.name) >= run.steps
        return Phase.DONE if done and self._is_begun(run) else Phase.WAITING

    def _is_begun(self, run: PlannedRun) -> bool:
        return (path_of(self._home, run) / directory.CONFIG).exists()

    def _begun_with(self, run: PlannedRun) -> Mapping[str, Any] | None:
        """What a run's own configuration says of who learns what."""
        if not self._is_begun(run):
            return None
        config = directory.read_config(path_of(self._home, run))
        whose = {name: config[name] for name in WHO_LEARNS_WHAT if name in config}
        return {**config.get("settings", {}), **whose}

    def run(self, show: Show, stop: Callable[[], bool]) -> list[Status]:
        asked = False
        while self._active or (self._queue and not asked):
            if stop() and not asked:
                asked = True
                for _, worker in self._active:
                    worker.stop()
            self._collect()
            while not asked and self._queue and len(self._active) < self._engine.slots:
                if not self._start_next():
                    break
            show(list(self._status.values()))
            time.sleep(PAUSE)
        show(list(self._status.values()))
        return list(self._status.values())

    def _start_next(self) -> bool:
        """Start the first run in the queue that nobody else holds; whether there was one."""
        for _ in range(len(self._queue)):
            run = self._queue.popleft()
            path = path_of(self._home, run)
            if directory.is_held(path):  # By a process of a sweep that was killed: it is about to leave.
                self._queue.append(run)
                continue
            self._start(run, path)
            return True
        return False

    def _start(self, run: PlannedRun, path: Path) -> None:
        if self._is_begun(run):
            arguments = ["--resume", str(path)]
        else:
            self._ledger.begun(run)
            arguments = [*run.arguments(), "--out", str(path)]
        try:
            worker = self._engine.start(["train", *arguments, "--steps", str(run.steps)], self._log_of(run))
        except OSError as error:
            self._fail(run, error_line(error))
            return
        self._active.append((run, worker))
        self._status[run.name] = Status(run, Phase.RUNNING)

    def _collect(self) -> None:
        """See who is finished."""
        for run, worker in list(self._active):
            code = worker.exit_code()
            if code is None:
                continue
            self._active.remove((run, worker))
            if code == 0 and self._is_begun(run):
                self._ledger.done(run)
                self._status[run.name] = Status(run, Phase.DONE)
            elif self._may_go_on(run, code) and self._deaths[run.name] < MOST_DEATHS:
                self._deaths[run.name] += 1
                self._queue.append(run)
                self._status[run.name] = Status(run, Phase.WAITING)
            else:
                self._fail(run, self._reason(run, code))

    def _may_go_on(self, run: PlannedRun, code: int) -> bool:
        """Whether a run was killed, or found its directory held by one that is about to leave."""
        return code < 0 or code > SIGNALLED or directory.is_held(path_of(self._home, run))

    def _reason(self, run: PlannedRun, code: int) -> str:
        """Why a run is given up: its last words, unless it had no time for any."""
        if code < 0 or code > SIGNALLED:
            return (
                f"killed {self._deaths[run.name] + 1} times, the last time by signal {abs(code) % SIGNALLED}"
            )
        log = self._log_of(run)
        said = (log.read_text(errors="replace") if log.exists() else "").strip().splitlines() or [""]
        return said[-1].removeprefix("surefoot: ") or f"exit code {code}"

    def _fail(self, run: PlannedRun, why: str) -> None:
        self._ledger.failed(run, why)
        self._status[run.name] = Status(run, Phase.FAILED, why)

    def _log_of(self, run: PlannedRun) -> Path:
        return self._home / LOGS / f"{run.name}.txt"
