"""Metrics of a run: from the records of steps to scalars and finished episodes."""

from collections import deque
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.training.records import StepRecord

RECENT_EPISODES = 100
"""Episodes that mean returns are taken over."""


class EpisodeRow(NamedTuple):
    """A finished episode, a line of `episodes.csv`."""

    episode: int
    step: int
    """Steps of the run when it ended."""
    episode_return: float
    length: int
    terminated: bool
    """False if a time limit cut it off."""
    env: int = 0
    """The environment that it was played in, of those side by side."""


class RunMetrics:
    """Counts since a run began, and the choices of actions since the last entry of the log.

    Choices are stored until they are logged, so that the metrics do not depend on how a run is cut into
    pieces.
    """

    def __init__(self) -> None:
        self.episodes = 0
        self.recent: deque[tuple[float, int]] = deque(maxlen=RECENT_EPISODES)
        self.events: dict[str, int] = {}
        self.choices: dict[str, list[float]] = {"nongreedy": [], "epistemic": [], "aleatoric": []}

    def add(self, record: StepRecord, step: int, envs: int = 1) -> list[EpisodeRow]:
        """Add the records of the steps that followed `step`; returns the episodes that ended in them."""
        for name, values in self.choices.items():
            values.extend(np.asarray(getattr(record.choice, name), float).tolist())
        for name, values in record.info.items():
            if np.asarray(values).dtype == bool:
                self.events[name] = self.events.get(name, 0) + int(np.sum(values))
        rows = [self._episode(record, int(i), step, int(i) % envs) for i in np.flatnonzero(record.done)]
        self.recent.extend((row.episode_return, row.length) for row in rows)
        return rows

    def _episode(self, record: StepRecord, i: int, step: int, env: int) -> EpisodeRow:
        self.episodes += 1
        episode_return, length = float(record.episode_return[i]), int(record.length[i])
        terminated = bool(record.terminated[i])
        return EpisodeRow(self.episodes, step + i + 1, episode_return, length, terminated, env)

    @property
    def mean_episode_length(self) -> float | None:
        """Mean length of the latest episodes; None before the first one ended."""
        return float(np.mean([length for _, length in self.recent])) if self.recent else None

    def scalars(self) -> dict[str, float]:
        """Scalars of the latest episodes and of the steps since the last entry; unknown ones are left out."""
        found: dict[str, float] = {"rollout/episodes": self.episodes}
        if self.recent:
            returns, lengths = zip(*self.recent, strict=True)
            found["rollout/ep_rew_mean"] = float(np.mean(returns))
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

    def clear_choices(self) -> None:
        """Forget the choices that an entry of the log has summed up."""
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
    def restored(cls, found: Mapping[str, Any], choices: Mapping[str, NDArray[np.float64]]) -> "RunMetrics":
        """The metrics that `as_json` and `as_tensors` described."""
        metrics = cls()
        metrics.episodes = int(found["episodes"])
        metrics.recent.extend((float(total), int(length)) for total, length in found["recent"])
        metrics.events = {str(name): int(count) for name, count in found["events"].items()}
        for name, values in metrics.choices.items():
            values.extend(choices[name].tolist())
        return metrics
