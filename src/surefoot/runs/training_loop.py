"""The training loop: advance, log, evaluate, save, and stop without losing anything."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from surefoot.model_spec import ModelSpec
from surefoot.runs import checkpoint, directory
from surefoot.runs.divergence import DivergenceError
from surefoot.runs.live_run import LiveRun
from surefoot.runs.log_files import Logger
from surefoot.runs.progress import ProgressDisplay
from surefoot.runs.run_writer import RunWriter
from surefoot.runs.schedule import EvaluationPlan, TrainingSchedule
from surefoot.runs.tensorboard import Scalars
from surefoot.runs.tensors import to_tensors
from surefoot.system.disk import DiskError
from surefoot.system.memory import release_freed_memory
from surefoot.system.signals import exit_as_signalled, graceful_stop
from surefoot.training.driver import Stop
from surefoot.training.episode_seeds import Stream
from surefoot.training.evaluation import Episodes, Evaluation

FIRST_CHUNK = 200
"""Steps made at once in the beginning, when programs are compiled."""
SECONDS_BETWEEN_UPDATES = 1.0
"""Seconds between two updates of the progress display, about."""
MAX_SECONDS_UNSAVED = 300.0
"""Seconds between two checkpoints, at most."""

Listener = Callable[[int, Scalars], bool | None]
"""Called with a step and what was logged there; False ends the training."""


class Evaluator:
    """Plays episodes with the present parameters, in an environment apart from that of training."""

    def __init__(
        self, play: Callable[[Episodes, Stop], Evaluation | None], *, side_by_side: int, seed: int
    ) -> None:
        self._play, self.side_by_side, self._seed = play, side_by_side, seed

    def run(self, plan: EvaluationPlan, number: int, episodes: int, stop: Stop) -> Evaluation | None:
        """The evaluation of this number, each of `episodes` episodes at most; None after a stop."""
        which = Episodes(
            plan.episodes, self._seed, Stream.EVALUATION, number * episodes, max_steps=plan.max_steps
        )
        return self._play(which, stop)

    def steps_of(self, found: Evaluation) -> int:
        """Steps that an evaluation took; episodes side by side take as many as the longest of them."""
        starts = range(0, len(found.lengths), self.side_by_side)
        return sum(int(found.lengths[start : start + self.side_by_side].max()) for start in starts)


def train(
    live_run: LiveRun,
    spec: ModelSpec,
    schedule: TrainingSchedule,
    *,
    home: Path | None,
    evaluator: Evaluator | None,
    probe: Callable[[], Scalars],
    listeners: Sequence[Listener],
    loggers: Sequence[Logger],
    progress: bool,
) -> None:
    """Train according to a schedule; what ends it early is raised after everything is saved."""
    display = ProgressDisplay(f"{spec.env} {spec.agent}", live_run.step, schedule.steps, on=progress)
    ignore_full_disk = schedule.if_disk_full == "continue"
    with (
        graceful_stop() as request,
        RunWriter(home, loggers, display, live_run.step, ignore_full_disk=ignore_full_disk) as writer,
    ):
        loop = TrainingLoop(
            live_run,
            spec,
            schedule,
            writer,
            home=home,
            evaluator=evaluator,
            probe=probe,
            listeners=listeners,
        )
        error = loop.run(request)
    if error is not None:
        raise error
    exit_as_signalled(request)


class TrainingLoop:
    """One training, from where a run is to where its schedule ends."""

    def __init__(
        self,
        live_run: LiveRun,
        spec: ModelSpec,
        schedule: TrainingSchedule,
        writer: RunWriter,
        *,
        home: Path | None,
        evaluator: Evaluator | None,
        probe: Callable[[], Scalars],
        listeners: Sequence[Listener],
    ) -> None:
        self._live_run, self._spec, self._schedule, self._writer = live_run, spec, schedule, writer
        self._home, self._evaluator, self._probe = home, evaluator, probe
        self._listeners = listeners

    def run(self, stop: Stop) -> BaseException | None:
        """Train; what the environment raised, if it did."""
        live_run, schedule, writer = self._live_run, self._schedule, self._writer
        # A model may have learned before: from its first moment on, the run can be resumed.
        if self._home is not None and directory.last_checkpoint(self._home) is None:
            self._save()
        saved, saved_at = live_run.step, time.monotonic()
        error, go_on, chunk = None, True, FIRST_CHUNK
        while True:
            if live_run.settled < live_run.step and schedule.is_due(live_run.step, within_run=True):
                go_on = self._saving_on_error(lambda: self._settle(stop))
            step, now = live_run.step, time.monotonic()
            if error or step >= schedule.steps or not go_on or stop():
                break
            if (
                step > saved and schedule.is_time(step, schedule.checkpoint_every)
            ) or now > saved_at + MAX_SECONDS_UNSAVED:
                self._save()
                saved, saved_at = step, now
            start = time.monotonic()
            try:
                episodes, error = live_run.advance(min(schedule.next_stop(step), step + chunk), stop)
            except DivergenceError as divergence:
                writer.attempt(partial(self._save_evidence, divergence))
                raise
            writer.episodes(episodes)
            writer.show(live_run.step, {})
            speed = (live_run.step - step) / (time.monotonic() - start)
            chunk = max(1, int(speed * SECONDS_BETWEEN_UPDATES))
        if live_run.step > saved:
            self._save()
        self._log_last_entry(stop if error is None else lambda: True)
        return error

    def _saving_on_error(self, work: Callable[[], bool]) -> bool:
        """Do something that may call a user's code; if that fails, what was learned is saved."""
        try:
            return work()
        except DiskError:
            raise
        except BaseException:
            self._save()
            raise

    def _settle(self, stop: Stop) -> bool:
        """Do what is due at this step; whether to go on. A stop in the middle leaves all of it to be done."""
        live_run, schedule, scalars = self._live_run, self._schedule, dict[str, float]()
        step = live_run.step
        logs = schedule.is_time(step, schedule.log_every)
        if logs:
            scalars |= self._scalars()
        plan = self._evaluation_plan(schedule.evaluation_at)
        if plan is not None:
            found = self._evaluate(plan, stop)
            if found is None:
                return False
            scalars |= found
        if logs:
            live_run.metrics.clear_choices()
        live_run.settled = step
        return self._log(scalars) if scalars else True

    def _evaluation_plan(self, choose: Callable[..., EvaluationPlan | None]) -> EvaluationPlan | None:
        if self._evaluator is None:
            return None
        live_run = self._live_run
        length = live_run.metrics.mean_episode_length
        return choose(live_run.step, live_run.evaluated_steps, length, self._evaluator.side_by_side)

    def _evaluate(self, plan: EvaluationPlan, stop: Stop) -> dict[str, float] | None:
        """Evaluate the present parameters, and keep them if they are the best; None after a stop."""
        live_run, interval = self._live_run, self._schedule.eval_interval
        assert self._evaluator is not None
        assert interval is not None
        # Counted from the step that was asked for, which several environments may have passed.
        number = -(-(live_run.step - self._schedule.envs + 1) // interval)
        found = self._evaluator.run(plan, number, self._schedule.eval_episodes, stop)
        if found is None:
            return None
        live_run.evaluated_steps += self._evaluator.steps_of(found)
        self._save_if_best(found.mean)
        scalars = {"eval/mean_reward": found.mean, "eval/mean_ep_length": float(found.lengths.mean())}
        if found.cut_off.any():
            scalars["eval/episodes_cut_off"] = float(found.cut_off.sum())
        return scalars

    def _log_last_entry(self, stop: Stop) -> None:
        """Log what is known at the end, if the schedule did not log it already.

        A longer run would not log it here: it comes after the checkpoint, and is undone when the run is
        resumed.
        """
        live_run, schedule = self._live_run, self._schedule
        step = live_run.step
        scalars = {} if live_run.settled == step else self._scalars()
        plan = self._evaluation_plan(schedule.last_evaluation)
        if plan is not None and not stop():
            scalars |= self._evaluate(plan, stop) or {}
        if scalars:
            self._log(scalars)
        elif not schedule.is_time(step, schedule.log_every):
            self._writer.show(step, self._scalars())

    def _scalars(self) -> dict[str, float]:
        """What there is to log of the run, and of a user's probe."""
        return {**self._live_run.scalars(), **self._probe()}

    def _log(self, scalars: Scalars) -> bool:
        """Log scalars; whether all listeners want to go on."""
        step = self._live_run.step
        self._writer.show(step, scalars)
        self._writer.scalars(step, scalars)
        release_freed_memory()
        return False not in [listener(step, scalars) for listener in self._listeners]

    def _save_if_best(self, mean: float) -> None:
        """Save the model if no evaluation before was better."""
        live_run = self._live_run
        if live_run.best is not None and mean < live_run.best:
            return
        live_run.best, live_run.best_step = mean, live_run.step
        if self._home is not None:
            path = directory.checkpoint_path(self._home, "best", live_run.step)
            if self._writer.attempt(lambda: live_run.save(path, self._spec, whole=False)):
                directory.delete_best_except(self._home, path)

    def _save(self) -> None:
        """Write a checkpoint, and delete the oldest."""
        home, live_run, writer = self._home, self._live_run, self._writer
        if home is None:
            return
        path = directory.checkpoint_path(home, "step", live_run.step)
        if writer.attempt(lambda: live_run.save(path, self._spec, log=writer.log_ends())):
            directory.delete_old(home, "step", directory.KEPT_CHECKPOINTS)

    def _save_evidence(self, error: DivergenceError) -> None:
        """Save, next to the last good checkpoint, the batch after which training diverged."""
        if self._home is not None:
            path = directory.checkpoint_path(self._home, "diverged", error.step)
            batch = {"batch": to_tensors(error.batch)}
            checkpoint.write(path, error.step, batch, {"quantity": error.quantity})
