"""Environments whose episodes can be gone back in: from any moment on, any action can be tried.

An environment in JAX is gone back in by its state, which is kept. A Gymnasium environment has its state
inside, so its episode is played again from its seed with the same actions.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import DependencyNotInstalled
from numpy.typing import NDArray

from surefoot.envs.as_gymnasium import episode_key, stepping_programs
from surefoot.envs.checked import CheckedEnv, boolean_entries
from surefoot.envs.resolve import EnvHandle, resolve_env
from surefoot.errors import UserError
from surefoot.types import Environment
from surefoot.web.scenes import NUMBERS_STAGE, PICTURE_STAGE, Scene, Stage, stage_of_state


class Moment(NamedTuple):
    """A moment of an episode: what the agent sees, what it has just received, and how to go on from there."""

    obs: NDArray[Any]
    scene: Scene
    position: Any
    """The simulator's own: a state, or what was played so far."""
    reward: float = 0.0
    terminated: bool = False
    truncated: bool = False
    events: tuple[str, ...] = ()
    """The names of what was true in the environment's `info`, such as `fell`."""

    @property
    def is_end(self) -> bool:
        """Whether the episode ends here."""
        return self.terminated or self.truncated


class _Position(NamedTuple):
    """A state of an environment in JAX, its time, and the key of its episode."""

    state: Any
    time: int
    key: NDArray[np.uint32]


class StateSimulator:
    """An environment in JAX; the same seed gives the same chances at each time, whatever is done."""

    def __init__(self, environment: Environment, stage: Stage) -> None:
        self.stage = stage
        self._reset, self._step = stepping_programs(environment)

    def start(self, seed: int) -> Moment:
        """The first moment of the episode of a seed."""
        key = episode_key(seed)
        state, obs = self._reset(key, np.int32(0))
        obs = np.asarray(obs)
        return Moment(obs, self.stage.draw(state, obs), _Position(state, 0, key))

    def after(self, moment: Moment, action: int) -> Moment:
        """The moment after an action."""
        before: _Position = moment.position
        time = before.time + 1
        state, obs, numbers, info = self._step(before.state, np.int32(action), before.key, np.int32(time))
        reward, terminated, truncated = np.asarray(numbers).tolist()
        obs = np.asarray(obs)
        return Moment(
            obs,
            self.stage.draw(state, obs),
            _Position(state, time, before.key),
            reward,
            terminated == 1,
            truncated == 1,
            _events({name: np.asarray(value)[()] for name, value in info.items()}),
        )


class _Played:
    """The seed of an episode, or one more action after what was played before."""

    def __init__(self, before: "_Played | None", number: int) -> None:
        self._before, self._number = before, number

    def numbers(self) -> list[int]:
        """The seed and all actions."""
        found, here = list[int](), self
        while here is not None:
            found.append(here._number)
            here = here._before
        return found[::-1]


class ReplaySimulator:
    """A Gymnasium environment, which is played again from the start to go on from an earlier moment."""

    def __init__(self, env: CheckedEnv, *, renders: bool) -> None:
        self._env, self._renders = env, renders
        self.stage = PICTURE_STAGE if renders else NUMBERS_STAGE
        self._played: _Played | None = None
        """Where the environment is now."""

    def start(self, seed: int) -> Moment:
        """The first moment of the episode of a seed."""
        obs = self._env.reset(seed)
        self._played = _Played(None, seed)
        return Moment(obs, self._draw(obs), self._played)

    def after(self, moment: Moment, action: int) -> Moment:
        """The moment after an action."""
        if self._played is not moment.position:
            self._play_again(moment)
        self._played = None  # Until the step has succeeded.
        step = self._env.step(action)
        self._played = _Played(moment.position, action)
        return Moment(
            step.obs,
            self._draw(step.obs),
            self._played,
            step.reward,
            step.terminated,
            step.truncated,
            _events(step.info),
        )

    def _play_again(self, moment: Moment) -> None:
        seed, *actions = moment.position.numbers()
        self._played = None
        obs = self._env.reset(seed)
        for action in actions:
            obs = self._env.step(action).obs
        if not np.array_equal(obs, moment.obs):
            raise UserError(
                f"env: {self._env.name} does not repeat an episode with the same seed and actions, "
                "accepted: environments whose chances all come from the seed of reset"
            )

    def _draw(self, obs: NDArray[Any]) -> Scene:
        return self.stage.draw(self._env.env.render() if self._renders else None, obs)


Simulator = StateSimulator | ReplaySimulator
"""An environment as two functions, of which `after` may be called for any moment, in any order."""


def _events(info: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, value in boolean_entries(dict(info)).items() if value)


def simulator_of(env: str, kwargs: Mapping[str, Any]) -> tuple[Simulator, EnvHandle]:
    """The simulator that suits an environment, and the environment with its spaces."""
    handle = resolve_env(env, kwargs)
    stage = stage_of_state(handle.gym.env.spec.id if handle.gym.env.spec else env, handle.kwargs)
    if handle.jax is not None and stage is not None:
        return StateSimulator(handle.jax, stage), handle
    pictured = _with_pictures(env, kwargs)
    if pictured is not None:
        return ReplaySimulator(pictured.gym, renders=True), pictured
    if handle.jax is not None:
        return StateSimulator(handle.jax, NUMBERS_STAGE), handle
    return ReplaySimulator(handle.gym, renders=False), handle


def _with_pictures(env: str, kwargs: Mapping[str, Any]) -> EnvHandle | None:
    """The environment made to render pictures; None if it does not."""
    try:
        handle = resolve_env(env, {**kwargs, "render_mode": "rgb_array"})
        handle.gym.reset(0)
        picture = handle.gym.env.render()
    except (UserError, DependencyNotInstalled, NotImplementedError):
        return None
    is_picture = isinstance(picture, np.ndarray) and picture.ndim == 3 and picture.shape[-1] == 3
    return handle if is_picture else None
