"""The budget of a static CVaR, the return that is still to come of a goal, as the last number observed.

The policy with the best CVaR of whole episodes remembers what has been earned. It is a function of the state
and of the budget b alone, which follows b' = (b - reward) / discount (Baeuerle and Ott, 2011). An episode
begins with a random budget while training, so that all are learned, and with the best one afterwards.

The observation has the budget's place between `low` and `high`, from 0 to 1. Where the returns to come of
all states lie between the two, a budget beyond them ranks actions as the nearer of the two does, so it is
clipped.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import RecordConstructorArgs
from jaxtyping import Array, Float, PyTree
from numpy.typing import NDArray

from surefoot.envs.as_gymnasium import GymnasiumEnvironment
from surefoot.envs.checked import CheckedEnv
from surefoot.envs.resolve import EnvHandle
from surefoot.errors import UserError
from surefoot.program_cache import cached_program
from surefoot.text import single_line
from surefoot.types import Action, Environment, EnvironmentStep, RandomKey

BUDGET_KEY = 2**31 - 2
"""Sets the key of the first budget apart from that of the environment's own reset."""
CANDIDATES = 101
"""Budgets of which the best one is chosen."""

Place = float
"""A budget as its place between the lowest and the highest, from 0 to 1."""


class BudgetRule(NamedTuple):
    """How budgets follow rewards."""

    discount: float
    low: float
    high: float

    def after(self, place: Any, reward: Any) -> Any:
        """The place of the budget after a reward."""
        budget = self.low + place * (self.high - self.low)
        return ((budget - reward) / self.discount - self.low) / (self.high - self.low)


def space_with_budget(space: Any) -> Box:
    """An observation space with the place of the budget as its last number."""
    if not isinstance(space, Box) or len(space.shape) != 1 or not np.issubdtype(space.dtype, np.floating):
        raise UserError(
            f"env: got observations {single_line(space)} with objective=static, accepted: vectors of floats"
        )
    low, high = (
        np.append(bounds, place).astype(space.dtype) for bounds, place in ((space.low, 0), (space.high, 1))
    )
    return Box(low, high, dtype=space.dtype.type)


def with_place(obs: Array, place: Any) -> Array:
    """An observation with another budget."""
    return obs.at[-1].set(jnp.asarray(place, obs.dtype))


class BudgetState(NamedTuple):
    """The state of an environment in JAX and the place of the budget."""

    inner: PyTree
    place: Float[Array, ""]


@cached_program
def budget_environment(environment: Environment, rule: BudgetRule) -> Environment:
    """An environment in JAX whose observations end with a budget; equal arguments give the same one."""

    def observe(obs: Array, place: Array) -> Array:
        return jnp.append(obs, place.astype(obs.dtype))

    def reset(key: RandomKey) -> tuple[BudgetState, Array]:
        inner, obs = environment.reset(key)
        place = jax.random.uniform(jax.random.fold_in(key, BUDGET_KEY))
        return BudgetState(inner, place), observe(obs, place)

    def step(state: BudgetState, action: Action, key: RandomKey) -> EnvironmentStep:
        found = environment.step(state.inner, action, key)
        place = jnp.clip(rule.after(state.place, found.reward), 0.0, 1.0)
        return found._replace(state=BudgetState(found.state, place), obs=observe(found.obs, place))

    space = space_with_budget(environment.observation_space)
    return Environment(reset, step, space, environment.action_space)


class WithBudget(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """A Gymnasium environment whose observations end with a budget.

    `first`, if it is set, gives an episode's first observation the budget that it begins with.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], discount: float, low: float, high: float) -> None:
        RecordConstructorArgs.__init__(self, discount=discount, low=low, high=high)
        gymnasium.Wrapper.__init__(self, env)
        self.observation_space = space_with_budget(env.observation_space)
        self.first: Callable[[NDArray[Any]], Place] | None = None
        self._rule, self._place = BudgetRule(discount, low, high), 0.0
        self._rng = np.random.default_rng()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Begin an episode; a seed fixes its budget, too."""
        obs, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self._place = float(self._rng.uniform())
        if self.first is not None:
            self._place = self.first(self._observe(obs))
        return self._observe(obs), info

    def step(self, action: Any) -> tuple[NDArray[Any], Any, bool, bool, dict[str, Any]]:
        """Take an action; the reward comes off the budget."""
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._place = float(np.clip(self._rule.after(self._place, float(reward)), 0, 1))
        return self._observe(obs), reward, terminated, truncated, info

    def _observe(self, obs: Any) -> NDArray[Any]:
        given = np.asarray(obs)
        return np.append(given, np.asarray(self._place, given.dtype))


def add_budget(handle: EnvHandle, rule: BudgetRule) -> EnvHandle:
    """An environment, in both of its forms, whose observations end with a budget."""
    if handle.jax is not None:
        environment = budget_environment(handle.jax, rule)
        return handle._replace(
            jax=environment, gym=CheckedEnv(GymnasiumEnvironment(environment, {}), handle.name)
        )
    return handle._replace(gym=CheckedEnv(WithBudget(handle.gym.env, *rule), handle.name))
