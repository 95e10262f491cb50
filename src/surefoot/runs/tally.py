"""What a run logs: from the records of steps to scalars and episodes."""

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.training.step import Record

RECENT = 100
"""Episodes that mean returns are taken over."""


class EpisodeRow(NamedTuple):
    """A finished episode, a line of `episodes.csv`."""

    episode: int
    step: int
    """Steps of the run when it ended."""
    gain: float
    length: int
    terminated: bool
    """False where an outside time limit cut it off."""


class Tally:
    """Counts since a run began, and what its choices were since the last log.

    However a run is cut into pieces, the same numbers come out: choices are kept until they are logged.
    """

    def __init__(self) -> None:
        self.episodes = 0
        self.recent: deque[tuple[float, int]] = deque(maxlen=RECENT)
        self.events: dict[str, int] = {}
        self.choices: dict[str, list[float]] = {"nongreedy": [], "epistemic": [], "aleatoric": []}

    def add(self, record: Record, step: int) -> list[EpisodeRow]:
        """Take in the records of the steps that followed `step`; the episodes that ended in them."""
        for name, values in self.choices.items():
            values.extend(np.asarray(getattr(record.choice, name), float).tolist())
        for name, values in record.info.items():
            if np.asarray(values).dtype == bool:
                self.events[name] = self.events.get(name, 0) + int(np.sum(values))
        rows = [self._episode(record, int(i), step) for i in np.flatnonzero(record.over)]
        self.recent.extend((row.gain, row.length) for row in rows)
        return rows

    def _episode(self, record: Record, i: int, step: int) -> EpisodeRow:
        self.episodes += 1
        gain, length = float(record.gain[i]), int(record.length[i])
        return EpisodeRow(self.episodes, step + i + 1, gain, length, bool(record.terminated[i]))

    def scalars(self) -> dict[str, float]:
        """Of the last episodes and of the steps since the last log; what there is not is left out."""
        found: dict[str, float] = {"rollout/episodes": self.episodes}
        if self.recent:
            gains, lengths = zip(*self.recent, strict=True)
            found["rollout/ep_rew_mean"] = float(np.mean(gains))
            found["rollout/ep_len_mean"] = float(np.mean(lengths))
        names = {
            "nongreedy": "uncertainty/nongreedy_fraction",
            "epistemic": "uncertainty/epistemic_mean",
            "aleatoric": "uncertainty/aleatoric_mean",
        }
        for name, values in self.choices.items():
            if values and not np.isnan(values[0]):
                found[names[name]] = float(np.mean(values))
        found |= {f"info/{name}": count for name, count in sorted(self.events.items())}
        return {name: value for name, value in found.items() if np.isfinite(value)}

    def logged(self) -> None:
        """Forget the choices that a log has summed up."""
        for values in self.choices.values():
            values.clear()

    def as_json(self) -> dict[str, Any]:
        """The counts, for a checkpoint."""
        return {
            "episodes": self.episodes,
            "recent": [list(each) for each in self.recent],
            "events": self.events,
        }

    def as_tensors(self) -> dict[str, NDArray[np.float64]]:
        """The choices, for a checkpoint."""
        return {name: np.array(values, np.float64) for name, values in self.choices.items()}

    @classmethod
    def restored(cls, found: Mapping[str, Any], choices: Mapping[str, NDArray[np.float64]]) -> "Tally":
        """What `as_json` and `as_tensors` gave."""
        tally = cls()
        tally.episodes = int(found["episodes"])
        tally.recent.extend((float(gain), int(length)) for gain, length in found["recent"])
        tally.events = {str(name): int(count) for name, count in found["events"].items()}
        for name, values in tally.choices.items():
            values.extend(choices[name].tolist())
        return tally
