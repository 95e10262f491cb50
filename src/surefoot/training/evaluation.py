"""What a trained agent thinks and does, without exploring."""

from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array, Int, PyTree

from surefoot.types import Agent, Beliefs, RandomKey

Inspect = Callable[[PyTree, Array, RandomKey], tuple[Beliefs, Int[Array, "B"]]]


def make_inspector(agent: Agent) -> Inspect:
    """From parameters, a batch of observations and a key: beliefs and exploiting actions, compiled once."""

    def one(params: PyTree, obs: Array, key: RandomKey) -> tuple[Beliefs, Any]:
        beliefs_key, policy_key = jax.random.split(key)
        beliefs = agent.beliefs(params, obs, beliefs_key)
        return beliefs, agent.exploit(beliefs, policy_key, policy_key, 0)

    return jax.jit(jax.vmap(one, in_axes=(None, 0, None)))
