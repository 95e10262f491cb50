"""How long to train, and how often to log, evaluate and save on the way."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, NamedTuple

from surefoot.errors import UserError, require, require_whole_number
from surefoot.runs.custom_metrics import resolve_probe
from surefoot.text import error_line
from surefoot.training.evaluation import MAX_EPISODE_STEPS

IF_DISK_FULL = ("stop", "continue")

AUTO = "auto"
"""Evaluate as often as `EVALUATION_SHARE` allows, and at the end."""
AUTO_EVERY = 2_500
"""Steps between two occasions for an automatic evaluation."""
EVALUATION_SHARE = 0.1
"""Steps of automatic evaluations for each step of training. An evaluation is begun only if it is expected to
stay within this share, and its episodes are cut off at twice what is left of it. An evaluation step takes no
longer than a training step, which acts and learns; episodes that are played side by side count once."""
MIN_LAST_STEPS = 1_000
"""Steps that each episode of the last evaluation may have, even if the share is used up."""


class EvaluationPlan(NamedTuple):
    """An evaluation that is due: how many episodes, and their largest length."""

    episodes: int
    max_steps: int = MAX_EPISODE_STEPS


@dataclass(frozen=True, kw_only=True)
class TrainingSchedule:
    """Steps in all, and the steps between entries of the log, evaluations and checkpoints."""

    steps: int
    """Steps in all."""
    log_every: int
    eval_every: int | str | None
    """Steps between evaluations; "auto" bounds their cost; None is never."""
    eval_episodes: int
    checkpoint_every: int
    if_disk_full: str
    probe: str | None = None
    """Name of a function that is called with the model for each entry of the log."""
    envs: int = 1
    """Environments that are played side by side; what is due waits until all have made the same steps."""

    def __post_init__(self) -> None:
        """Validate."""
        for name in ("steps", "log_every", "eval_episodes", "checkpoint_every"):
            require_whole_number(name, getattr(self, name), 1)
        if self.eval_every not in (None, AUTO):
            require_whole_number("eval_every", self.eval_every, 1)
        accepted = ", ".join(IF_DISK_FULL)
        require("if_disk_full", self.if_disk_full, self.if_disk_full in IF_DISK_FULL, accepted)
        if self.probe is not None:
            resolve_probe(self.probe)

    @classmethod
    def from_json(cls, config: Mapping[str, Any]) -> "TrainingSchedule":
        """The schedule in a run's configuration."""
        try:
            given = [field for field in fields(cls) if field.name in config or field.default is MISSING]
            return cls(**{field.name: config[field.name] for field in given})
        except (KeyError, TypeError) as error:
            raise UserError(f"config.json: damaged ({error_line(error)})") from error

    def is_due(self, step: int, *, within_run: bool = False) -> bool:
        """Whether there is something to log, or an occasion to evaluate, after this many steps.

        Within a run, the end of an automatic schedule is left to the last entry of the log, which is not part
        of a longer run.
        """
        if within_run and self.eval_every == AUTO and step >= self.steps:
            return False
        return any(self.is_time(step, each) for each in self._regular)

    def is_time(self, step: int, every: int) -> bool:
        """Whether this is the first step of all environments together at or after a multiple of `every`."""
        return step % every < self.envs

    def next_stop(self, step: int) -> int:
        """The next step at which something is due, a checkpoint is written, or training ends."""
        every = (*self._regular, self.checkpoint_every)
        return min(self.steps, *((step // each + 1) * each for each in every))

    @property
    def eval_interval(self) -> int | None:
        """Steps between two occasions for an evaluation; None where there is none."""
        return AUTO_EVERY if self.eval_every == AUTO else self.eval_every  # pyright: ignore[reportReturnType]

    @property
    def _regular(self) -> list[int]:
        return [each for each in (self.log_every, self.eval_interval) if each]

    def evaluation_at(
        self, step: int, steps_so_far: int, episode_length: float | None, side_by_side: int
    ) -> EvaluationPlan | None:
        """The evaluation that is due after this many steps, if one is.

        Args:
            step: Steps of training so far.
            steps_so_far: Steps of all evaluations so far.
            episode_length: Mean length of the latest episodes in training; None before the first ended.
            side_by_side: Episodes that are played at once.
        """
        if not self.eval_interval or not self.is_time(step, self.eval_interval):
            return None
        if self.eval_every != AUTO:
            return EvaluationPlan(self.eval_episodes)
        if self._affordable(step, steps_so_far, episode_length, side_by_side) < self.eval_episodes:
            return None
        return self._bounded_plan(self.eval_episodes, step, steps_so_far, side_by_side, at_least=1)

    def last_evaluation(
        self, step: int, steps_so_far: int, episode_length: float | None, side_by_side: int
    ) -> EvaluationPlan | None:
        """The evaluation at the end of an automatic schedule: the episodes that the share allows, or one."""
        if self.eval_every != AUTO or step < self.steps:
            return None
        affordable = self._affordable(step, steps_so_far, episode_length, side_by_side)
        episodes = min(self.eval_episodes, max(affordable, side_by_side))
        at_least = MIN_LAST_STEPS if episode_length is None else max(MIN_LAST_STEPS, int(2 * episode_length))
        return self._bounded_plan(episodes, step, steps_so_far, side_by_side, at_least=at_least)

    def _bounded_plan(
        self, episodes: int, step: int, steps_so_far: int, side_by_side: int, *, at_least: int
    ) -> EvaluationPlan:
        """An evaluation of at most twice what is left of the share.

        A policy that does not explore may get stuck where one that explores does not, and its episodes may
        be far longer than those in training.
        """
        rounds = -(-episodes // side_by_side)
        share = int(2 * (EVALUATION_SHARE * step - steps_so_far) / rounds)
        return EvaluationPlan(episodes, min(MAX_EPISODE_STEPS, max(share, at_least)))

    def _affordable(
        self, step: int, steps_so_far: int, episode_length: float | None, side_by_side: int
    ) -> int:
        """Episodes within the share of evaluation; an episode that has not ended is as long as training."""
        share = EVALUATION_SHARE * step - steps_so_far
        return max(0, int(share / (step if episode_length is None else episode_length))) * side_by_side
