"""Training according to a plan: advance, log, evaluate, save, and stop in order."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from surefoot.envs.hosting import CheckedEnvironment
from surefoot.runs import checkpoint, directory
from surefoot.runs.blueprint import Blueprint
from surefoot.runs.disk import DiskError
from surefoot.runs.health import UnhealthyError
from surefoot.runs.log import Scalars
from surefoot.runs.memory import give_back
from surefoot.runs.plan import Plan
from surefoot.runs.recorder import Recorder
from surefoot.runs.tensors import to_tensors
from surefoot.runs.trainer import Trainer
from surefoot.training.driver import Stop
from surefoot.training.evaluation import evaluate
from surefoot.training.seeds import Stream
from surefoot.types import FaultyEnvironmentError

FIRST_PACE = 200
"""Steps made at once in the beginning, when programs are compiled."""
LONGEST_SILENCE = 1.0
"""Seconds between two signs of life, about."""
LONGEST_UNSAVED = 300.0
"""Seconds between two checkpoints, at most."""

Listener = Callable[[int, Scalars], bool | None]
"""Gets a step and what was logged there; False ends the training."""

Act = Callable[[NDArray[Any]], int]


class Session:
    """One training, from where a trainer is to where a plan ends."""

    def __init__(
        self,
        trainer: Trainer,
        blueprint: Blueprint,
        plan: Plan,
        recorder: Recorder,
        *,
        home: Path | None,
        judge: CheckedEnvironment | None,
        actor: Callable[[], Act],
        look: Callable[[], Scalars],
        listeners: Sequence[Listener],
    ) -> None:
        self._trainer, self._blueprint, self._plan, self._recorder = trainer, blueprint, plan, recorder
        self._home, self._judge, self._actor, self._look = home, judge, actor, look
        self._listeners = listeners

    def run(self, stop: Stop) -> FaultyEnvironmentError | None:
        """Train; what the environment did wrong, if it did."""
        trainer, plan, recorder = self._trainer, self._plan, self._recorder
        # A model may have learned before: from the first moment on, the run can be gone on with.
        if self._home is not None and directory.last_checkpoint(self._home) is None:
            self._save()
        saved, saved_at = trainer.step, time.monotonic()
        fault, go_on, pace = None, True, FIRST_PACE
        while True:
            if trainer.settled < trainer.step and plan.is_due(trainer.step):
                go_on = self._settle_or_save(stop)
            step, now = trainer.step, time.monotonic()
            if fault or step >= plan.steps or not go_on or stop():
                break
            if (step > saved and step % plan.checkpoint_every == 0) or now > saved_at + LONGEST_UNSAVED:
                self._save()
                saved, saved_at = step, now
            begun = time.monotonic()
            try:
                episodes, fault = trainer.advance(min(plan.next_stop(step), step + pace), stop)
            except UnhealthyError as error:
                recorder.attempt(partial(self._keep_evidence, error))
                raise
            recorder.episodes(episodes)
            recorder.show(trainer.step, {})
            pace = max(1, int((trainer.step - step) / (time.monotonic() - begun) * LONGEST_SILENCE))
        if trainer.step > saved:
            self._save()
        self._say_the_last()
        return fault

    def _settle_or_save(self, stop: Stop) -> bool:
        """What fails on the way, a callback, a logger, an evaluation, must not cost what was learned."""
        try:
            return self._settle(stop)
        except DiskError:
            raise
        except Exception:
            self._save()
            raise

    def _settle(self, stop: Stop) -> bool:
        """Do what is due at this step; whether to go on. A stop in the middle leaves it all to be done."""
        trainer, plan, scalars = self._trainer, self._plan, dict[str, float]()
        step = trainer.step
        if step % plan.log_every == 0:
            scalars |= self._scalars()
        if self._judge is not None and plan.eval_every and step % plan.eval_every == 0:
            number, seed = step // plan.eval_every, self._blueprint.seed
            found = evaluate(
                self._actor(),
                self._judge,
                plan.eval_episodes,
                seed,
                Stream.EVALUATION,
                first=number * plan.eval_episodes,
                stop=stop,
            )
            if found is None:
                return False
            self._keep_if_best(found.mean)
            scalars |= {"eval/mean_reward": found.mean, "eval/mean_ep_length": float(found.lengths.mean())}
        if step % plan.log_every == 0:
            trainer.tally.logged()
        trainer.settled = step
        return self._tell(scalars)

    def _say_the_last(self) -> None:
        """What is known at the end, where that is not a step at which something is due."""
        step = self._trainer.step
        if self._trainer.settled < step:
            # Not part of what a longer run would have logged: it comes after the checkpoint.
            self._tell(self._scalars())
        elif step % self._plan.log_every:
            self._recorder.show(step, self._scalars())

    def _scalars(self) -> dict[str, float]:
        """What there is to log of the run, and of what a user looks at."""
        return {**self._trainer.scalars(), **self._look()}

    def _tell(self, scalars: Scalars) -> bool:
        """Pass scalars on; whether all who listen want to go on."""
        step = self._trainer.step
        self._recorder.show(step, scalars)
        self._recorder.scalars(step, scalars)
        give_back()
        return False not in [listener(step, scalars) for listener in self._listeners]

    def _keep_if_best(self, mean: float) -> None:
        """Keep the model if none before was better."""
        trainer = self._trainer
        if trainer.best is not None and mean < trainer.best:
            return
        trainer.best = mean
        if self._home is not None:
            path = directory.checkpoint_path(self._home, "best", trainer.step)
            if self._recorder.attempt(lambda: trainer.save(path, self._blueprint, whole=False)):
                directory.forget_others(self._home, path)

    def _save(self) -> None:
        """Write a checkpoint, and let the oldest go."""
        home, trainer, recorder = self._home, self._trainer, self._recorder
        if home is None:
            return
        path = directory.checkpoint_path(home, "step", trainer.step)
        if recorder.attempt(lambda: trainer.save(path, self._blueprint, log=recorder.log_ends())):
            directory.forget_old(home, "step", directory.KEPT)

    def _keep_evidence(self, error: UnhealthyError) -> None:
        """Write down, beside the last good checkpoint, the batch that did it."""
        if self._home is not None:
            path = directory.checkpoint_path(self._home, "unhealthy", error.step)
            batch = {"batch": to_tensors(error.batch)}
            checkpoint.write(path, error.step, batch, {"quantity": error.quantity})
