"""A run under way: an agent's state in an environment and its metrics, saved to checkpoints and loaded."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from surefoot.agents.base import AgentConfig
from surefoot.envs.checked import stored_dtype
from surefoot.envs.resolve import EnvHandle
from surefoot.errors import UserError, require
from surefoot.jit import jit_for_log, jit_for_startup
from surefoot.model_spec import ModelSpec
from surefoot.program_cache import cached_program
from surefoot.replay import Replay
from surefoot.runs import checkpoint, tensors
from surefoot.runs.checkpoint import CheckpointError, Manifest
from surefoot.runs.divergence import check_finite, require_finite
from surefoot.runs.metrics import EpisodeRow, RunMetrics
from surefoot.system.memory import require_memory_for
from surefoot.text import error_line
from surefoot.training import compiled_driver, hosted_driver
from surefoot.training import step as steps
from surefoot.training.compiled_driver import CompiledState
from surefoot.training.driver import Driver, Stop, round_up
from surefoot.training.hosted_driver import HostedState, PlayedEpisode
from surefoot.training.step import TrainState
from surefoot.types import Agent, Learner, Scalar, Transition


class SavedState(NamedTuple):
    """What a checkpoint holds beyond the learner, until there is an environment to go on in."""

    train: TrainState
    env_state: dict[str, NDArray[Any]]
    """The environment's state in JAX, or the action chosen next."""
    episode: PlayedEpisode | None


class SavedLearner(NamedTuple):
    """A learner from a checkpoint that holds no more, and the steps of training behind it."""

    learner: Learner
    step: int


class Monitors(NamedTuple):
    """Programs that look at the state of training."""

    loss: Callable[[TrainState], Scalar]
    loss_on: Callable[[TrainState, Any], Scalar]


@cached_program
def _monitors(agent: Agent, config: AgentConfig) -> Monitors:
    def loss_on(state: TrainState, batch: Transition) -> Scalar:
        return agent.loss(state.learner, batch, state.replay.size.astype(float), state.key)

    return Monitors(jit_for_log(partial(steps.current_loss, agent, config)), jit_for_startup(loss_on))


class LiveRun:
    """Training that can be advanced, saved and loaded, and can change its environment."""

    def __init__(self, agent: Agent, spec: ModelSpec) -> None:
        self.agent, self.config, self.seed = agent, spec.settings, spec.seed
        self.metrics = RunMetrics()
        self.best: float | None = None
        """The highest mean return of an evaluation."""
        self.best_step: int | None = None
        self.evaluated_steps = 0
        """Steps of all evaluations so far."""
        self.settled = 0
        """The last step at which everything that was due was done."""
        self.env: EnvHandle | None = None
        self._space = spec.observation_space
        self._driver: Driver | None = None
        self._state: Any = None
        self._saved: SavedState | None = None
        self._saved_learner: SavedLearner | None = None
        self._loss: float | None = None
        """The loss after the last steps; None if there were none since the run was made or loaded."""
        self._initial_learner: Learner | None = None
        """For beliefs and actions before any training."""
        self._episode_is_lost = False
        self._monitors = _monitors(agent, self.config)

    @property
    def step(self) -> int:
        """Steps of training of this run."""
        state = self._train_state
        return 0 if state is None else int(state.step)

    @property
    def learned_steps(self) -> int:
        """Steps of training behind the present parameters, including those of a run they were loaded from."""
        saved = self._saved_learner
        return self.step if saved is None else saved.step

    @property
    def learner(self) -> Learner:
        """Networks, targets, prior and optimiser as they are now."""
        state = self._train_state
        if state is not None:
            return state.learner
        if self._saved_learner is not None:
            return self._saved_learner.learner
        if self._initial_learner is None:
            # With the keys of the driver, so that training starts from this learner.
            _, run_key = jax.random.split(jax.random.key(self.seed))
            init: Callable[..., Learner] = jit_for_startup(self.agent.init)
            self._initial_learner = init(jax.random.split(run_key, 3)[0])
        return self._initial_learner

    @property
    def replay(self) -> Replay | None:
        """The transitions to learn from; None before training, and if a checkpoint held none."""
        state = self._train_state
        return None if state is None else state.replay

    @property
    def _train_state(self) -> TrainState | None:
        if self._state is not None:
            return self._state.train
        return None if self._saved is None else self._saved.train

    def enter(self, env: EnvHandle) -> None:
        """Get ready to advance in an environment; another one than before begins with a new episode."""
        if self.env is not None and env is not self.env:
            self._episode_is_lost, self._driver = True, None
        self.env = env
        driver = self._driver = self._driver or self._driver_for(env)
        if self._saved is not None:
            self._state, self._saved = self._reopened(driver, env, self._saved), None
        elif self._state is None:
            require_memory_for(self._template().replay)
            state = driver.init(jax.random.key(self.seed))
            if self._saved_learner is not None:
                state = state._replace(train=state.train._replace(learner=self._saved_learner.learner))
                self._episode_is_lost = True
            self._state, self._saved_learner, self._initial_learner = state, None, None
        _require_driver(env, hosted=isinstance(self._state, HostedState))
        if self._episode_is_lost:
            self._state, self._episode_is_lost = driver.restart(self._state), False

    def _driver_for(self, env: EnvHandle) -> Driver:
        if env.jax is not None:
            return compiled_driver.make(self.agent, env.jax, self.config)
        require("envs", self.config.envs, self.config.envs == 1, "1 for a Gymnasium environment")
        return hosted_driver.make(self.agent, env.gym, self.config, self.seed)

    def advance(self, until: int, stop: Stop) -> tuple[list[EpisodeRow], BaseException | None]:
        """Train up to a step, or until something stops it; the episodes that ended, and what was raised.

        Raises `DivergenceError` if something became NaN or infinite.
        """
        assert self._driver is not None
        before = self.step
        count = round_up(until - before, self.config.envs)
        self._state, record, error = self._driver.advance(self._state, count, stop)
        self._episode_is_lost = error is not None
        if record is None:
            return [], error
        state = self._state.train
        self._loss = float(self._monitors.loss(state))
        check = check_finite(state.learner, self._loss)
        require_finite(self.config, state, check, record, self._monitors.loss_on)
        return self.metrics.add(record, before, self.config.envs), error

    def scalars(self) -> dict[str, float]:
        """The scalars of the next entry of the log."""
        scalars, state = self.metrics.scalars(), self._train_state
        if state is not None and self.step > self.config.learning_starts:
            loss = self._loss if self._loss is not None else float(self._monitors.loss(state))
            scalars |= {"train/loss": loss} if np.isfinite(loss) else {}
        return scalars

    def forget_best(self) -> None:
        """Forget which model was best: the next evaluation starts anew."""
        self.best = self.best_step = None

    def save(
        self,
        path: Path,
        spec: ModelSpec,
        *,
        whole: bool = True,
        log: Mapping[str, Any] | None = None,
        further_notes: Mapping[str, Any] | None = None,
    ) -> None:
        """Write a checkpoint; one that is not whole holds the learner alone.

        `log` says where the run's log ends; `further_notes` are plain data that go into the manifest.
        """
        parts: dict[str, Any] = {"learner": tensors.to_tensors(self.learner)}
        notes: dict[str, Any] = {"model": spec.as_json(), **(further_notes or {})}
        state = self._train_state
        if whole and state is not None:
            env_state, episode = self._env_state()
            parts["replay"] = tensors.replay_to_tensors(state.replay)
            parts["train"] = tensors.to_tensors(_without_bulk(state))
            parts["env_state"] = env_state
            parts["metrics"] = self.metrics.as_tensors()
            notes |= {
                "best": self.best,
                "best_step": self.best_step,
                "evaluated_steps": self.evaluated_steps,
                "settled": self.settled,
                "metrics": self.metrics.as_json(),
                "log": log,
                "episode": episode and {"number": episode.number, "checksum": episode.checksum},
            }
            if episode is not None:
                parts["episode"] = {"actions": np.array(episode.actions, np.int32)}
        checkpoint.write(path, self.learned_steps, parts, notes)

    def _env_state(self) -> tuple[dict[str, NDArray[Any]], PlayedEpisode | None]:
        if self._saved is not None:
            return self._saved.env_state, self._saved.episode
        if isinstance(self._state, HostedState):
            return tensors.to_tensors(self._state.choice), self._state.episode
        return tensors.to_tensors(self._state.environment), None

    def load(self, path: Path, manifest: Manifest, *, experience: bool = True) -> None:
        """Take over what a checkpoint holds, or its learner alone."""
        checkpoint.verify(path, manifest)
        template = self._template()
        whole = experience and manifest.has("replay")
        if whole:
            require_memory_for(template.replay)
        try:
            learner = _read(path, manifest, "learner", template.learner)
            if not whole:
                self._saved_learner = SavedLearner(learner, manifest.step)
                return
            specs = tensors.replay_specs(template.replay)
            arrays = checkpoint.read(path, manifest, "replay", specs)
            replay = tensors.replay_from_tensors(template.replay, arrays)
            train: TrainState = _read(path, manifest, "train", _without_bulk(template))
            train = train._replace(learner=learner, replay=replay)
            env_state = checkpoint.read(path, manifest, "env_state", None)
            self._saved = SavedState(train, env_state, _episode_from(path, manifest))
            self._load_notes(manifest.notes, checkpoint.read(path, manifest, "metrics", None))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            if isinstance(error, UserError):
                raise
            raise CheckpointError(f"{path}: damaged ({error_line(error)})") from error

    def _load_notes(self, notes: Mapping[str, Any], choices: Mapping[str, NDArray[Any]]) -> None:
        self.metrics = RunMetrics.restored(notes["metrics"], choices)
        best, best_step = notes["best"], notes.get("best_step")
        self.best, self.settled = None if best is None else float(best), int(notes["settled"])
        self.best_step = None if best_step is None else int(best_step)
        self.evaluated_steps = int(notes.get("evaluated_steps", 0))

    def _template(self) -> TrainState:
        """The shapes of the state of training."""
        shape = (*steps.env_axis(self.config), *(self._space.shape or ()))
        obs = jax.ShapeDtypeStruct(shape, stored_dtype(self._space))
        return jax.eval_shape(
            lambda key, obs: steps.init_state(self.agent, self.config, key, obs), jax.random.key(0), obs
        )

    def _reopened(self, driver: Driver, env: EnvHandle, saved: SavedState) -> Any:
        """The state that was saved, its environment brought back to where it was."""
        _require_driver(env, hosted=saved.episode is not None)
        template = driver.env_state_shapes()
        env_state = tensors.from_tensors(template, tensors.matching(template, saved.env_state))
        if saved.episode is None:
            return CompiledState(saved.train, env_state)
        return driver.reopen(HostedState(saved.train, env_state, saved.episode))


def _require_driver(env: EnvHandle, *, hosted: bool) -> None:
    if hosted == (env.jax is not None):
        raise UserError("env: a run continues with the driver that it began with, compiled or hosted")


def _without_bulk(state: TrainState) -> TrainState:
    """The small parts of the state of training."""
    return state._replace(learner=None, replay=None)  # pyright: ignore[reportArgumentType]


def _episode_from(path: Path, manifest: Manifest) -> PlayedEpisode | None:
    """The episode of a hosted environment that was under way, if there was one."""
    episode = manifest.notes["episode"]
    if episode is None:
        return None
    actions = checkpoint.read(path, manifest, "episode", None)["actions"].tolist()
    return PlayedEpisode(int(episode["number"]), actions, int(episode["checksum"]))


def _read(path: Path, manifest: Manifest, part: str, template: Any) -> Any:
    specs = tensors.specs_of(template)
    return tensors.from_tensors(template, checkpoint.read(path, manifest, part, specs))
