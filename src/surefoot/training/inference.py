"""Inference: what an agent believes and does outside training, with random keys of its own.

Every decision has its own key, and an episode that is followed with exploration has one key of its own, so
that an agent that explores by one draw per episode follows that draw.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from jaxtyping import Array, PyTree
from numpy.typing import NDArray

from surefoot.envs.budget import CANDIDATES, with_place
from surefoot.envs.checked import stored_dtype
from surefoot.errors import UserError
from surefoot.program_cache import cached_program
from surefoot.risk import NamedRiskMeasure, RiskKind
from surefoot.text import single_line
from surefoot.training.step import draw_key
from surefoot.types import Action, Agent, Beliefs, ObservationSpace, RandomKey, Scalar

INFERENCE_STREAM = 2**31 - 1
"""Sets the keys of inference apart from those of training."""

KeyData = NDArray[np.uint32]
"""A random key as plain numbers: a call takes several times as long with a key as with its data."""


class Decided(NamedTuple):
    """What an agent believes, what it does, and the value of that by the measure it acts by."""

    beliefs: Beliefs
    action: Action
    value: Scalar


class Decision(NamedTuple):
    """How an agent acts without exploring: by its own policy, or by a risk measure that was asked for."""

    agent: Agent
    kind: RiskKind | None

    def __call__(self, params: PyTree, obs: Array, key: RandomKey, numbers: tuple[Any, ...]) -> Decided:
        """The decision for one observation; `numbers` are those of the risk measure."""
        beliefs_key, policy_key = jax.random.split(key)
        beliefs = self.agent.beliefs(params, obs, beliefs_key)
        if self.kind is None:
            action = self.agent.exploit(beliefs, policy_key, policy_key, 0)
            return Decided(beliefs, action, self.agent.value(beliefs)[action])
        values = self.kind.function(beliefs, *numbers)
        action = jnp.argmax(values, axis=-1)
        return Decided(beliefs, action, values[action])


def decision_of(agent: Agent, risk: NamedRiskMeasure | None) -> tuple[Decision, tuple[Any, ...]]:
    """How the agent acts under a risk measure, and its numbers as arguments of a program.

    Arguments, not constants: another number compiles nothing.
    """
    if risk is None:
        return Decision(agent, None), ()
    precision = jax.dtypes.canonicalize_dtype(float)
    return Decision(agent, risk.kind), tuple(np.asarray(number, precision) for number in risk.numbers)


def place_of_best_budget(agent: Agent, params: PyTree, obs: Array, key: RandomKey) -> Scalar:
    """The place of the budget with which an episode that begins like this is worth most to the agent."""
    places = jnp.linspace(0.0, 1.0, CANDIDATES)

    def best_value(place: Array) -> Array:
        return agent.value(agent.beliefs(params, with_place(obs, place), key)).max()

    return places[jnp.argmax(jax.vmap(best_value)(places))]


class InferencePrograms(NamedTuple):
    """Compiled inference of one agent under one risk measure."""

    batch: Callable[..., Decided]
    """From parameters, a batch of observations, key data and numbers to decisions."""
    single: Callable[..., tuple[Array, Array]]
    """From parameters, one observation, key data, a number that sets keys apart, and numbers to an action and
    its value."""


@cached_program
def _decision_programs(decision: Decision) -> InferencePrograms:
    def batch(params: PyTree, obs: Array, key: Array, numbers: Any) -> Decided:
        keys = jax.random.split(jax.random.wrap_key_data(key), obs.shape[0])
        return jax.vmap(decision, in_axes=(None, 0, 0, None))(params, obs, keys, numbers)

    def single(params: PyTree, obs: Array, key: Array, time: Any, numbers: Any) -> tuple[Array, Array]:
        step_key = jax.random.fold_in(jax.random.wrap_key_data(key), time)
        decided = decision(params, obs, step_key, numbers)
        return decided.action, decided.value

    return InferencePrograms(jax.jit(batch), jax.jit(single))


@cached_program
def _budget_program(agent: Agent) -> Callable[..., Array]:
    """From parameters, a first observation and key data to the place of the best budget."""

    def place(params: PyTree, obs: Array, key: Array) -> Array:
        return place_of_best_budget(agent, params, obs, jax.random.wrap_key_data(key))

    return jax.jit(place)


@cached_program
def _exploring_program(agent: Agent) -> Callable[..., Array]:
    """Exploring actions for a batch of observations, each with the key of its episode."""

    def one(params: PyTree, obs: Array, key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
        beliefs_key, step_key = jax.random.split(key)
        beliefs = agent.beliefs(params, obs, draw_key(agent, beliefs_key, episode_key))
        return agent.explore(beliefs, step_key, episode_key, step)

    def explore(params: PyTree, obs: Array, key: Array, episode_keys: Array, step: Any) -> Array:
        keys = jax.random.split(jax.random.wrap_key_data(key), obs.shape[0])
        of_batch = jax.vmap(one, in_axes=(None, 0, 0, 0, None))
        return of_batch(params, obs, keys, jax.random.wrap_key_data(episode_keys), step)

    return jax.jit(explore)


class Predictor:
    """Beliefs and actions of an agent, in the terms of its environment, for whichever parameters."""

    def __init__(
        self, agent: Agent, observation_space: ObservationSpace, action_space: Discrete, seed: int
    ) -> None:
        self._agent = agent
        self._observations, self._actions = observation_space, action_space
        self._key = jax.random.fold_in(jax.random.key(seed), INFERENCE_STREAM)
        self._calls = 0
        self._served: set[NamedRiskMeasure] = set()

    def decision(self, params: PyTree, risk: NamedRiskMeasure | None) -> tuple[Decision, tuple[Any, ...]]:
        """How the agent acts under a risk measure; refused if its beliefs cannot serve the measure."""
        if risk is not None and risk not in self._served:
            obs = np.zeros(self._observations.shape or (), stored_dtype(self._observations))
            risk.require_served_by(jax.eval_shape(self._agent.beliefs, params, obs, jax.random.key(0)))
            self._served.add(risk)
        return decision_of(self._agent, risk)

    def beliefs(self, params: PyTree, observation: Any, seed: int | None = None) -> Beliefs:
        """Beliefs about each action, given one observation or a batch of them."""
        batch, single = self._batched(observation)
        decision, numbers = decision_of(self._agent, None)
        key = self._next_key() if seed is None else np.asarray(jax.random.key_data(jax.random.key(seed)))
        found = _decision_programs(decision).batch(params, batch, key, numbers).beliefs
        return jax.tree.map(lambda leaf: leaf[0] if single else leaf, found)

    def best_actions(self, params: PyTree, observation: Any, risk: NamedRiskMeasure | None) -> Any:
        """The action for one observation, or the actions for a batch of them."""
        batch, single = self._batched(observation)
        decision, numbers = self.decision(params, risk)
        decided = _decision_programs(decision).batch(params, batch, self._next_key(), numbers)
        return self._in_env_terms(decided.action, single)

    def exploring_actions(
        self, params: PyTree, observation: Any, step: int, state: Any, episode_start: Any
    ) -> tuple[Any, KeyData]:
        """Actions that explore as after this many steps of training, and the keys of their episodes.

        `state` is what the last call returned; where `episode_start` is true, a new episode begins.
        """
        batch, single = self._batched(observation)
        episode_keys = self._episode_keys(len(batch), state, episode_start)
        explore = _exploring_program(self._agent)
        actions = explore(params, batch, self._next_key(), episode_keys, step)
        return self._in_env_terms(actions, single), episode_keys

    def episode_policy(
        self, params: PyTree, step: int, risk: NamedRiskMeasure | None, episode: int
    ) -> Callable[[NDArray[Any], int], int]:
        """From an observation and its time in an episode to an action counted from 0."""
        decision, numbers = self.decision(params, risk)
        act, key = _decision_programs(decision).single, self.evaluation_key(step, episode)
        return lambda obs, time: int(act(params, obs, key, np.int32(time), numbers)[0])

    def believed_value(
        self, params: PyTree, step: int, risk: NamedRiskMeasure | None, episode: int, obs: NDArray[Any]
    ) -> float:
        """The value, by the measure it acts by, of what the agent does in an episode's first observation."""
        decision, numbers = self.decision(params, risk)
        act, key = _decision_programs(decision).single, self.evaluation_key(step, episode)
        return float(act(params, obs, key, np.int32(0), numbers)[1])

    def place_of_best_budget(self, params: PyTree, obs: NDArray[Any]) -> float:
        """The place of the budget that an episode is best begun with, for an agent that has budgets."""
        return float(_budget_program(self._agent)(params, obs, np.asarray(jax.random.key_data(self._key))))

    def evaluation_key(self, step: int, episode: int) -> KeyData:
        """The key of an evaluated episode; the same for a resumed run as for one that never stopped."""
        key = jax.random.fold_in(jax.random.fold_in(self._key, step), episode)
        return np.asarray(jax.random.key_data(key))

    def _episode_keys(self, count: int, state: Any, episode_start: Any) -> KeyData:
        keys = jax.random.split(jax.random.wrap_key_data(jnp.asarray(self._next_key())), count)
        fresh = np.asarray(jax.random.key_data(keys))
        if state is None:
            return fresh
        known = np.asarray(state)
        if known.shape != fresh.shape or known.dtype != fresh.dtype:
            given = f"{type(state).__name__} of shape {known.shape}"
            raise UserError(f"state: got {given}, accepted: None, or what predict returned before")
        if episode_start is None:
            return known
        starts = np.asarray(episode_start)
        if starts.dtype != bool or starts.size not in {1, count}:
            raise UserError(
                f"episode_start: got {single_line(episode_start)[:60]}, "
                f"accepted: None, True or False, or {count} of them"
            )
        return np.where(starts.reshape(-1, 1), fresh, known)

    def _next_key(self) -> KeyData:
        self._calls += 1
        return np.asarray(jax.random.key_data(jax.random.fold_in(self._key, 2**31 + self._calls)))

    def _in_env_terms(self, actions: Array, single: bool) -> Any:
        chosen = np.asarray(actions, np.int64) + int(self._actions.start)
        # A NumPy number, not an array: environments look it up in dictionaries.
        return chosen[0] if single else chosen

    def _batched(self, observation: Any) -> tuple[NDArray[Any], bool]:
        """Observations along a first axis, and whether there was only one."""
        shape, wanted = self._observations.shape or (), np.dtype(self._observations.dtype)
        given = np.asarray(observation)
        if given.shape != shape and (given.ndim == 0 or given.shape[1:] != shape):
            advice = "; the last number is the budget, see with_budget" if self._agent.has_budget else ""
            accepted = f"{shape}, or a batch of such{advice}"
            raise UserError(f"observation: got shape {given.shape}, accepted: {accepted}")
        if not np.can_cast(given.dtype, wanted, "same_kind"):
            raise UserError(f"observation: got dtype {given.dtype}, accepted: {wanted}")
        single = given.shape == shape
        batch = given.astype(stored_dtype(self._observations))
        return (batch[None] if single else batch), single
