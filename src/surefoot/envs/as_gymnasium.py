"""An environment in JAX as a Gymnasium environment."""

from collections.abc import Callable, Mapping
from typing import Any

import gymnasium
import gymnasium.utils.seeding
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from surefoot.errors import UserError
from surefoot.jit import jit_for_startup
from surefoot.program_cache import cached_program
from surefoot.types import Environment, RandomKey

Render = Callable[[Any], Any]
"""A function from an environment's state to what a render mode shows, such as a picture."""


class GymnasiumEnvironment(gymnasium.Env[NDArray[Any], Any]):
    """A Gymnasium environment that calls the pure functions of one in JAX.

    `renders` has a function for each render mode. `name_info` converts the numbers of `info`, for instance
    the number of a cause into its name.
    """

    metadata = {"render_modes": ["rgb_array", "ansi"], "render_fps": 4}  # noqa: RUF012 (Gymnasium declares it so)

    def __init__(
        self,
        environment: Environment,
        renders: Mapping[str, Render],
        name_info: Callable[[Mapping[str, Any]], dict[str, Any]] = dict,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in renders:
            raise UserError(f"render_mode: got {render_mode}, accepted: {', '.join(renders)}")
        self.environment = environment
        self.observation_space = environment.observation_space
        self.action_space = environment.action_space
        self.render_mode = render_mode
        self._renders = renders
        self._name_info = name_info
        self._reset, self._step = stepping_programs(environment)
        self._state: Any = None
        self._episode_key: Any = None
        self._time = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode; a seed fixes it and all later episodes until the next seed."""
        super().reset(seed=seed, options=options)
        self._episode_key = _draw_key(self.np_random)
        self._time = 0
        self._state, obs = self._reset(self._episode_key, np.int32(0))
        return np.asarray(obs), {}

    def step(self, action: Any) -> tuple[NDArray[Any], float, bool, bool, dict[str, Any]]:
        """Take an action; returns observation, reward, terminated, truncated and info."""
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset before the first step")
        if not self.action_space.contains(action):
            raise UserError(f"action: got {action}, accepted: {self.action_space}")
        self._time += 1
        now = np.int32(self._time)
        self._state, obs, numbers, info = self._step(self._state, np.int32(action), self._episode_key, now)
        reward, terminated, truncated = np.asarray(numbers).tolist()
        named = self._name_info({name: value.item() for name, value in info.items()})
        return np.asarray(obs), reward, terminated == 1, truncated == 1, named

    def renew_randomness(self, seed: int) -> None:
        """Fresh randomness from here on, in the middle of an episode."""
        self._episode_key = episode_key(seed)

    def render(self) -> Any:
        """The current state, rendered in the render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render needs a render_mode: gymnasium.make(..., render_mode='rgb_array')")
            return None
        return self._renders[self.render_mode](self._state)


def episode_key(seed: int) -> NDArray[np.uint32]:
    """The data of the random key of the episode that `reset(seed=seed)` begins."""
    return _draw_key(gymnasium.utils.seeding.np_random(seed)[0])


def _draw_key(rng: np.random.Generator) -> NDArray[np.uint32]:
    return np.asarray(jax.random.key_data(jax.random.key(int(rng.integers(2**63)))))


def key_at(key_data: Array, time: Any) -> RandomKey:
    """The random key of one step of an episode, numbered by its time; the reset has time 0."""
    return jax.random.fold_in(jax.random.wrap_key_data(key_data), time)


@cached_program
def stepping_programs(environment: Environment) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Compiled `reset` and `step`, which derive the key of each call from the data of the episode's key.

    They take the data because a call with a typed random key takes several times as long.
    """

    def step(state: Any, action: Any, key_data: Array, time: Any) -> tuple[Any, Array, Array, Any]:
        after = environment.step(state, action, key_at(key_data, time))
        # Three numbers in one array: to read each by itself takes as long as a step of a small game.
        flags = (after.terminated.astype(after.reward.dtype), after.truncated.astype(after.reward.dtype))
        return after.state, after.obs, jnp.stack([after.reward, *flags]), after.info

    def reset(key_data: Array, time: Any) -> tuple[Any, Array]:
        return environment.reset(key_at(key_data, time))

    return jit_for_startup(reset), jit_for_startup(step)
