"""Resuming a run: opened from its newest good checkpoint, its log brought back to that moment."""

import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from surefoot.errors import UserError
from surefoot.model_spec import ModelSpec
from surefoot.runs import directory
from surefoot.runs.directory import NewestCheckpoint
from surefoot.runs.live_run import LiveRun
from surefoot.runs.log_files import EMPTY_ENDS, is_complete, rewind
from surefoot.runs.schedule import TrainingSchedule


@dataclass(frozen=True)
class ResumedRun:
    """A run that this process has locked, at its newest good checkpoint."""

    home: Path
    config: Mapping[str, Any]
    spec: ModelSpec
    schedule: TrainingSchedule
    newest: NewestCheckpoint

    def restore(self, live_run: LiveRun) -> None:
        """Load the checkpoint."""
        if self.newest.path is not None and self.newest.manifest is not None:
            live_run.load(self.newest.path, self.newest.manifest)
        steps = self.schedule.steps
        if steps < live_run.step:
            raise UserError(f"steps: got {steps}, accepted: at least the {live_run.step} that are made")

    def is_finished(self, live_run: LiveRun) -> bool:
        """Whether nothing is left to do: all steps are made, and the log is complete."""
        step, schedule = live_run.step, self.schedule
        has_last_entry = not schedule.is_due(step, within_run=True)
        return step >= schedule.steps and is_complete(
            self.home, step, self._ends, has_last_entry=has_last_entry
        )

    def rewind(self, live_run: LiveRun, spec: ModelSpec) -> None:
        """Undo what was written after the checkpoint, and write the model and schedule that continue it."""
        directory.clean_up(self.home)
        for name in rewind(self.home, live_run.step, self._ends):
            warnings.warn(f"{self.home / name}: some of its lines are lost", stacklevel=3)
        notes = {} if self.newest.manifest is None else self.newest.manifest.notes
        if "best_step" in notes:
            # An evaluation at the end of a shorter run is none of a longer one's.
            step = live_run.best_step
            best = None if step is None else directory.checkpoint_path(self.home, "best", step)
            directory.delete_best_except(self.home, best)
        directory.write_config(self.home, {**self.config, **spec.as_json(), **asdict(self.schedule)})

    @property
    def _ends(self) -> Mapping[str, Any]:
        """The ends of the log files when the checkpoint was made."""
        return EMPTY_ENDS if self.newest.manifest is None else self.newest.manifest.notes["log"]


@contextmanager
def resumed_run(home: Path, steps: int | None = None) -> Generator[ResumedRun]:
    """Open a run to go on with it, for this many steps in all; damaged checkpoints are renamed."""
    config = directory.read_config(home)  # Before the lock, which would leave a file where there is no run.
    spec, schedule = ModelSpec.from_json(config), TrainingSchedule.from_json(config)
    if steps is not None:
        schedule = replace(schedule, steps=steps)
    lock = directory.lock(home)
    try:
        newest = directory.newest_checkpoint(home)
        newest.warn_of_damage()
        directory.rename_damaged(newest.damaged)
        yield ResumedRun(home, config, spec, schedule, newest)
    finally:
        lock.release()
