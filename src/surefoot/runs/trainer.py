"""A run under way: an agent's state in an environment, what is counted of it, and both as a checkpoint."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from surefoot.agents.base import Learning
from surefoot.compiling import to_start_fast
from surefoot.envs.hosting import stored_dtype
from surefoot.envs.place import Place
from surefoot.runs import checkpoint, tensors
from surefoot.runs.blueprint import Blueprint
from surefoot.runs.checkpoint import CheckpointError
from surefoot.runs.health import Vitals, examine, vitals_of
from surefoot.runs.memory import require_room_for
from surefoot.runs.tally import EpisodeRow, Tally
from surefoot.training import compiled, hosted
from surefoot.training import step as steps
from surefoot.training.compiled import CompiledRun
from surefoot.training.driver import KEPT, Driver, Stop
from surefoot.training.hosted import HostedRun, Playing
from surefoot.training.step import Run
from surefoot.types import Agent, FaultyEnvironmentError, Learner, Scalar, Transition, UserError, one_line


class Saved(NamedTuple):
    """What a checkpoint holds beyond the learner, until there is an environment to go on in."""

    run: Run
    beside: dict[str, NDArray[Any]]
    """The environment's state in JAX, or the action chosen next."""
    playing: Playing | None


class Instruments(NamedTuple):
    """Programs that look at a run."""

    vitals: Callable[[Run], Vitals]
    loss_on: Callable[[Run, Any], Any]


@lru_cache(maxsize=KEPT)
def _instruments_of(agent: Agent, config: Learning) -> Instruments:
    def loss_on(run: Run, batch: Transition) -> Scalar:
        return agent.loss(run.learner, batch, run.replay.size.astype(float), run.key)

    return Instruments(jax.jit(lambda run: vitals_of(agent, config, run)), to_start_fast(loss_on))


class Trainer:
    """Training that can be stopped, saved, and gone on with, here or in another environment."""

    def __init__(self, agent: Agent, blueprint: Blueprint) -> None:
        self.agent, self.config, self.seed = agent, blueprint.settings, blueprint.seed
        self.tally = Tally()
        self.best: float | None = None
        self.settled = 0
        """The last step at which everything that was due was done."""
        self.place: Place | None = None
        self._space = blueprint.observation_space
        self._driver: Driver | None = None
        self._state: Any = None
        self._saved: Saved | None = None
        self._learner: Learner | None = None
        """From a checkpoint that holds no more."""
        self._newborn: Learner | None = None
        """For questions before any training."""
        self._episode_is_lost = False
        self._instruments = _instruments_of(agent, self.config)

    @property
    def step(self) -> int:
        """Steps made so far."""
        run = self._run
        return 0 if run is None else int(run.step)

    @property
    def learner(self) -> Learner:
        """Networks, targets, prior and optimiser as they are now."""
        run = self._run
        if run is not None:
            return run.learner
        if self._learner is not None:
            return self._learner
        newborn = self._newborn
        if newborn is None:
            # As the driver will draw it.
            _, run_key = jax.random.split(jax.random.key(self.seed))
            draw: Callable[..., Learner] = to_start_fast(self.agent.init)
            newborn = self._newborn = draw(jax.random.split(run_key, 3)[0])
        return newborn

    @property
    def _run(self) -> Run | None:
        if self._state is not None:
            return self._state.run
        return None if self._saved is None else self._saved.run

    def enter(self, place: Place) -> None:
        """Be in an environment, ready to advance; in another one than before, at the start of an episode."""
        if self.place is not None and place is not self.place:
            self._episode_is_lost, self._driver = True, None
        self.place = place
        driver = self._driver = self._driver or self._driver_for(place)
        if self._saved is not None:
            self._state, self._saved = self._reopened(driver, place, self._saved), None
        elif self._state is None:
            require_room_for(self._template().replay)
            learned, self._learner, self._newborn = self._learner, None, None
            self._state = driver.init(jax.random.key(self.seed))
            if learned is not None:
                self._state = self._state._replace(run=self._state.run._replace(learner=learned))
                self._episode_is_lost = True
        _require_driver(place, hosted=isinstance(self._state, HostedRun))
        if self._episode_is_lost:
            self._state, self._episode_is_lost = driver.restart(self._state), False

    def _driver_for(self, place: Place) -> Driver:
        if place.inside is not None:
            return compiled.make(self.agent, place.inside, self.config)
        return hosted.make(self.agent, place.outside, self.config, self.seed)

    def advance(self, until: int, stop: Stop) -> tuple[list[EpisodeRow], FaultyEnvironmentError | None]:
        """Train up to a step, or until something stops it; the episodes that ended, and what went wrong.

        Raises `UnhealthyError` where something is no number any more.
        """
        assert self._driver is not None
        before = self.step
        self._state, record, fault = self._driver.advance(self._state, until - before, stop)
        self._episode_is_lost = fault is not None
        run = self._state.run
        examine(self.config, run, self._instruments.vitals(run), record, self._instruments.loss_on)
        return self.tally.add(record, before), fault

    def scalars(self) -> dict[str, float]:
        """What there is to log."""
        scalars, run = self.tally.scalars(), self._run
        if run is not None and self.step > self.config.learning_starts:
            loss = float(self._instruments.vitals(run).loss)
            scalars |= {"train/loss": loss} if np.isfinite(loss) else {}
        return scalars

    def save(
        self, path: Path, blueprint: Blueprint, *, whole: bool = True, log: Mapping[str, Any] | None = None
    ) -> None:
        """Write a checkpoint; one that is not whole can be asked, but not gone on with from where it was.

        `log` says where the run's log ends.
        """
        parts: dict[str, Any] = {"learner": tensors.to_tensors(self.learner)}
        notes: dict[str, Any] = {"model": blueprint.as_json()}
        run = self._run
        if whole and run is not None:
            beside, playing = self._beside()
            parts["replay"] = tensors.replay_to_tensors(run.replay)
            parts["run"] = tensors.to_tensors(_without_bulk(run))
            parts["beside"] = beside
            parts["tally"] = self.tally.as_tensors()
            notes |= {"best": self.best, "settled": self.settled, "tally": self.tally.as_json(), "log": log}
            notes["playing"] = playing and {"number": playing.number, "trace": playing.trace}
            if playing is not None:
                parts["playing"] = {"actions": np.array(playing.actions, np.int32)}
        checkpoint.write(path, self.step, parts, notes)

    def _beside(self) -> tuple[dict[str, NDArray[Any]], Playing | None]:
        if self._saved is not None:
            return self._saved.beside, self._saved.playing
        if isinstance(self._state, HostedRun):
            return tensors.to_tensors(self._state.choice), self._state.playing
        return tensors.to_tensors(self._state.environment), None

    def load(self, path: Path, manifest: checkpoint.Manifest) -> None:
        """Take over what a checkpoint holds."""
        checkpoint.verify(path, manifest)
        template = self._template()
        whole = "replay.safetensors" in manifest.files
        if whole:
            require_room_for(template.replay)
        try:
            learner = _read(path, manifest, "learner", template.learner)
            if not whole:
                self._learner = learner
                return
            shapes = tensors.replay_shapes(template.replay)
            found = checkpoint.read(path, manifest, "replay", shapes)
            replay = tensors.replay_from_tensors(template.replay, found)
            run: Run = _read(path, manifest, "run", _without_bulk(template))
            beside = checkpoint.read(path, manifest, "beside", None)
            self._saved = Saved(
                run._replace(learner=learner, replay=replay), beside, _playing_from(path, manifest)
            )
            choices = checkpoint.read(path, manifest, "tally", None)
            self.tally = Tally.restored(manifest.notes["tally"], choices)
            best = manifest.notes["best"]
            self.best, self.settled = None if best is None else float(best), int(manifest.notes["settled"])
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            if isinstance(error, UserError):
                raise
            raise CheckpointError(f"{path}: damaged ({one_line(error)})") from error

    def _template(self) -> Run:
        """The shapes of a run."""
        obs = jax.ShapeDtypeStruct(self._space.shape or (), stored_dtype(self._space))
        return jax.eval_shape(
            lambda key, obs: steps.start(self.agent, self.config, key, obs), jax.random.key(0), obs
        )

    def _reopened(self, driver: Driver, place: Place, saved: Saved) -> Any:
        """The state that was saved, its environment brought back to where it was."""
        _require_driver(place, hosted=saved.playing is not None)
        template = driver.shapes_beside()
        beside = tensors.from_tensors(template, tensors.matching(template, saved.beside))
        if saved.playing is None:
            return CompiledRun(saved.run, beside)
        return driver.reopen(HostedRun(saved.run, beside, saved.playing))


def _require_driver(place: Place, *, hosted: bool) -> None:
    if hosted == (place.inside is not None):
        raise UserError("env: a run goes on with the driver it began with, compiled or hosted")


def _without_bulk(run: Run) -> Run:
    """A run's small parts."""
    return run._replace(learner=None, replay=None)  # pyright: ignore[reportArgumentType]


def _playing_from(path: Path, manifest: checkpoint.Manifest) -> Playing | None:
    """The episode outside that was under way, if there was one."""
    playing = manifest.notes["playing"]
    if playing is None:
        return None
    actions = checkpoint.read(path, manifest, "playing", None)["actions"].tolist()
    return Playing(int(playing["number"]), actions, int(playing["trace"]))


def _read(path: Path, manifest: checkpoint.Manifest, part: str, template: Any) -> Any:
    shapes = tensors.shapes_of(template)
    return tensors.from_tensors(template, checkpoint.read(path, manifest, part, shapes))
