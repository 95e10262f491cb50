"""Questions to an agent outside training, in the terms of its environment."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from gymnasium.spaces import Discrete
from jaxtyping import Array, PyTree
from numpy.typing import NDArray

from surefoot.envs.hosting import stored_dtype
from surefoot.training.driver import KEPT
from surefoot.training.evaluation import make_inspector
from surefoot.types import Agent, Beliefs, Observations, UserError

ASKING = 2**31 - 1
"""Sets the chance of answers apart from that of training."""


@lru_cache(maxsize=KEPT)
def _make_explorer(agent: Agent) -> Callable[[PyTree, Any, Any, Any], Array]:
    """Exploring actions for a batch of observations, compiled once."""

    def one(params: PyTree, obs: Array, key: Any, step: Any) -> Any:
        beliefs_key, step_key, episode_key = jax.random.split(key, 3)
        return agent.explore(agent.beliefs(params, obs, beliefs_key), step_key, episode_key, step)

    def explore(params: PyTree, batch: Array, key: Any, step: Any) -> Array:
        keys = jax.random.split(key, batch.shape[0])
        return jax.vmap(one, in_axes=(None, 0, 0, None))(params, batch, keys, step)

    return jax.jit(explore)


class Adviser:
    """What an agent believes and would do, whichever parameters it has at the time."""

    def __init__(
        self, agent: Agent, observation_space: Observations, action_space: Discrete, seed: int
    ) -> None:
        self._observations, self._actions = observation_space, action_space
        self._key = jax.random.fold_in(jax.random.key(seed), ASKING)
        self._inspect = make_inspector(agent)
        self._explore = _make_explorer(agent)
        self._questions = 0

    def beliefs(self, params: PyTree, observation: Any) -> Beliefs:
        """Of each action, given one observation or a batch of them."""
        batch, single = self._batch_of(observation)
        found, _ = self._inspect(params, batch, self._next_key())
        return jax.tree.map(lambda leaf: leaf[0] if single else leaf, found)

    def best_actions(self, params: PyTree, observation: Any, risk_aversion: float | None) -> Any:
        """The action for one observation, or the actions for a batch of them."""
        batch, single = self._batch_of(observation)
        return self._named(self._inspect(params, batch, self._next_key(), risk_aversion)[1], single)

    def exploring_actions(self, params: PyTree, observation: Any, step: int) -> Any:
        """The same, exploring as after this many steps of learning."""
        batch, single = self._batch_of(observation)
        return self._named(self._explore(params, batch, self._next_key(), step), single)

    def actor(
        self, params: PyTree, step: int, risk_aversion: float | None = None
    ) -> Callable[[NDArray[Any]], int]:
        """From one observation to an action counted from 0, for parameters that stay as they are."""
        # By the step, not by how often it was asked: a run that goes on evaluates as if never stopped.
        key = jax.random.fold_in(self._key, step)

        def act(obs: NDArray[Any]) -> int:
            return int(self._inspect(params, obs[None], key, risk_aversion)[1][0])

        return act

    def _next_key(self) -> Any:
        self._questions += 1
        return jax.random.fold_in(self._key, 2**31 + self._questions)

    def _named(self, actions: Array, single: bool) -> Any:
        chosen = np.asarray(actions, np.int64) + int(self._actions.start)
        # A number of NumPy's, not an array: environments look it up in dictionaries.
        return chosen[0] if single else chosen

    def _batch_of(self, observation: Any) -> tuple[NDArray[Any], bool]:
        """Observations along a first axis, and whether it was only one."""
        shape, wanted = self._observations.shape or (), np.dtype(self._observations.dtype)
        given = np.asarray(observation)
        if given.shape != shape and (given.ndim == 0 or given.shape[1:] != shape):
            raise UserError(f"observation: got shape {given.shape}, accepted: {shape}, or a batch of such")
        if not np.can_cast(given.dtype, wanted, "same_kind"):
            raise UserError(f"observation: got dtype {given.dtype}, accepted: {wanted}")
        single = given.shape == shape
        batch = given.astype(stored_dtype(self._observations))
        return (batch[None] if single else batch), single
