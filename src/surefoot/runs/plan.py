"""How long to train, and what to do on the way."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from surefoot.runs.probes import probe_of
from surefoot.types import UserError, whole_number

IF_DISK_FULL = ("stop", "continue")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Steps, and the steps between things that are done now and then."""

    steps: int
    """Steps in all."""
    log_every: int
    eval_every: int | None
    eval_episodes: int
    checkpoint_every: int
    if_disk_full: str
    probe: str | None = None
    """Name of a function that looks at the model for the log."""

    def __post_init__(self) -> None:
        """Validate."""
        for name in ("steps", "log_every", "eval_every", "eval_episodes", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None:
                whole_number(name, value, 1)
        if self.if_disk_full not in IF_DISK_FULL:
            accepted = ", ".join(IF_DISK_FULL)
            raise UserError(f"if_disk_full: got {self.if_disk_full}, accepted: {accepted}")
        if self.probe is not None:
            probe_of(self.probe)

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> "Plan":
        """The plan in a run's configuration."""
        try:
            given = [field for field in fields(cls) if field.name in config or field.default is MISSING]
            return cls(**{field.name: config[field.name] for field in given})
        except (KeyError, TypeError) as error:
            raise UserError(f"config.json: damaged ({type(error).__name__}: {error})") from error

    def is_due(self, step: int) -> bool:
        """Whether there is something to log or to evaluate after this many steps."""
        return any(step % each == 0 for each in self._regular)

    def next_stop(self, step: int) -> int:
        """The next step at which there is, or a checkpoint, or the end."""
        every = (*self._regular, self.checkpoint_every)
        return min(self.steps, *((step // each + 1) * each for each in every))

    @property
    def _regular(self) -> list[int]:
        return [each for each in (self.log_every, self.eval_every) if each]
