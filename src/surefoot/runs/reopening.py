"""A run that lies on disk, opened again to go on where it stopped."""

import warnings
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from surefoot.runs import directory
from surefoot.runs.blueprint import Blueprint
from surefoot.runs.directory import Good
from surefoot.runs.log import NOTHING, is_complete, rewind
from surefoot.runs.plan import Plan
from surefoot.runs.trainer import Trainer
from surefoot.types import UserError


@dataclass(frozen=True)
class Reopened:
    """A run of which this process is the one writer, from its newest good checkpoint."""

    home: Path
    config: Mapping[str, Any]
    blueprint: Blueprint
    plan: Plan
    newest: Good

    def restore(self, trainer: Trainer) -> None:
        """Bring a trainer to where the run stopped."""
        if self.newest.path is not None and self.newest.manifest is not None:
            trainer.load(self.newest.path, self.newest.manifest)
        steps = self.plan.steps
        if steps < trainer.step:
            raise UserError(f"steps: got {steps}, accepted: at least the {trainer.step} that are made")

    def is_over(self, step: int) -> bool:
        """Whether nothing is left to do: every step is made, and the log is all there."""
        return step >= self.plan.steps and is_complete(self.home, step, self._ends, self.plan.is_due(step))

    def make_ready(self, step: int) -> None:
        """Undo what was written after the checkpoint, and keep the plan by which the run goes on."""
        directory.clean_up(self.home)
        for name in rewind(self.home, step, self._ends):
            warnings.warn(f"{self.home / name}: some of its lines are lost", stacklevel=3)
        directory.write_config(self.home, {**self.config, **asdict(self.plan)})

    @property
    def _ends(self) -> Mapping[str, Any]:
        """How far the log went when the checkpoint was made."""
        return NOTHING if self.newest.manifest is None else self.newest.manifest.notes["log"]


@contextmanager
def reopened(home: Path, steps: int | None = None) -> Generator[Reopened]:
    """Open a run to go on with it, for this many steps in all; damaged checkpoints are set aside."""
    config = directory.read_config(home)  # Before the lock, which would leave a file where there is no run.
    blueprint, plan = Blueprint.from_json(config), Plan.from_json(config)
    if steps is not None:
        plan = replace(plan, steps=steps)
    lock = directory.hold(home)
    try:
        newest = directory.newest_good(home)
        for wrong in newest.bad.values():
            warnings.warn(f"{wrong}; an older checkpoint is used", stacklevel=4)
        directory.set_aside(newest.bad)
        yield Reopened(home, config, blueprint, plan, newest)
    finally:
        lock.release()
