"""Small decision processes as tables: an environment in JAX, and the exact return of any policy."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array
from numpy.typing import NDArray

from surefoot.errors import require
from surefoot.types import Action, Environment, EnvironmentStep, RandomKey


class Outcome(NamedTuple):
    """One possible outcome of an action; without a next state the episode terminates."""

    probability: float
    reward: float
    next_state: int | None


Table = Mapping[tuple[int, int], Sequence[Outcome]]
"""The outcomes of every state and action. State 0 is the first; outcomes lead to higher states only."""


class Returns(NamedTuple):
    """Exact mean and standard deviation of the return of each state and action, `[state, action]`."""

    mean: NDArray[np.float64]
    sd: NDArray[np.float64]


def require_noise(noise: float) -> None:
    """Refuse a standard deviation that is negative or not finite."""
    require("noise", noise, math.isfinite(noise) and noise >= 0, "finite numbers from 0")


def shape_of(table: Table) -> tuple[int, int]:
    """The numbers of states and of actions."""
    return max(state for state, _ in table) + 1, max(action for _, action in table) + 1


def make(table: Table) -> Environment:
    """An environment whose observation is the state, one-hot."""
    states, actions = shape_of(table)
    most = max(map(len, table.values()))
    cumulative = np.ones((states, actions, most))
    rewards, targets = np.zeros((states, actions, most)), np.full((states, actions, most), states)
    for (state, action), outcomes in table.items():
        # The last one is left at 1, whatever the sum is rounded to.
        cumulative[state, action, : len(outcomes) - 1] = np.cumsum(
            [each.probability for each in outcomes[:-1]]
        )
        rewards[state, action, : len(outcomes)] = [each.reward for each in outcomes]
        targets[state, action, : len(outcomes)] = [
            states if each.next_state is None else each.next_state for each in outcomes
        ]

    def observe(state: Array) -> Array:
        """One-hot; after the end, no state."""
        return jax.nn.one_hot(state, states)

    def reset(key: RandomKey) -> tuple[Array, Array]:
        del key
        state = jnp.zeros((), jnp.int32)
        return state, observe(state)

    def step(state: Array, action: Action, key: RandomKey) -> EnvironmentStep:
        chance = jax.random.uniform(key)
        outcome = jnp.argmax(jnp.asarray(cumulative, float)[state, action] > chance)
        next_state = jnp.asarray(targets, jnp.int32)[state, action, outcome]
        return EnvironmentStep(
            state=next_state,
            obs=observe(next_state),
            reward=jnp.asarray(rewards, float)[state, action, outcome],
            terminated=next_state == states,
            truncated=jnp.zeros((), bool),
            info={},
        )

    return Environment(reset, step, Box(0, 1, (states,), np.float32), Discrete(actions))


def exact_returns(table: Table, policy: Sequence[int], discount: float = 1.0) -> Returns:
    """Returns of each action, when the policy, an action per state, follows it."""
    states, actions = shape_of(table)
    first, second = np.zeros((states, actions)), np.zeros((states, actions))
    for state in reversed(range(states)):
        for action in range(actions):
            for probability, reward, ahead in table[state, action]:
                mean = 0.0 if ahead is None else first[ahead, policy[ahead]]
                square = 0.0 if ahead is None else second[ahead, policy[ahead]]
                first[state, action] += probability * (reward + discount * mean)
                second[state, action] += probability * (
                    reward**2 + 2 * reward * discount * mean + discount**2 * square
                )
    return Returns(first, np.sqrt(np.maximum(second - first**2, 0)))


def best_policy(table: Table, discount: float = 1.0) -> list[int]:
    """The action of the highest mean return in each state, by backward induction."""
    states, actions = shape_of(table)
    policy = [0] * states
    for state in reversed(range(states)):
        means = exact_returns(table, policy, discount).mean[state]
        policy[state] = max(range(actions), key=lambda action, means=means: means[action])
    return policy
