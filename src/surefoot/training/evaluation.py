"""What a trained agent thinks and does, without exploring."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Int, PyTree
from numpy.typing import NDArray

from surefoot.envs.hosting import CheckedEnvironment
from surefoot.policies import risk_averse
from surefoot.training.driver import KEPT, Stop, never
from surefoot.training.seeds import episode_seed
from surefoot.types import Agent, Beliefs, Policy, RandomKey

Inspect = Callable[..., tuple[Beliefs, Int[Array, "B"]]]
"""From parameters, a batch of observations, a key and perhaps a risk aversion: beliefs and actions."""


@lru_cache(maxsize=KEPT)
def make_inspector(agent: Agent) -> Inspect:
    """Beliefs and exploiting actions, compiled once.

    Where a risk aversion is given, the actions are the best by it, whatever the agent's own attitude.
    """

    def by(policy: Policy, params: PyTree, obs: Array, key: RandomKey) -> tuple[Beliefs, Any]:
        def one(obs: Array) -> tuple[Beliefs, Any]:
            beliefs_key, policy_key = jax.random.split(key)
            beliefs = agent.beliefs(params, obs, beliefs_key)
            return beliefs, policy(beliefs, policy_key, policy_key, 0)

        return jax.vmap(one)(obs)

    as_it_is = jax.jit(lambda params, obs, key: by(agent.exploit, params, obs, key))
    averse = jax.jit(lambda params, obs, key, aversion: by(risk_averse(aversion), params, obs, key))

    def inspect(
        params: PyTree, obs: Any, key: RandomKey, risk_aversion: float | None = None
    ) -> tuple[Beliefs, Any]:
        if risk_aversion is None:
            return as_it_is(params, obs, key)
        # An argument of the program, not a constant in it: another attitude compiles nothing.
        return averse(params, obs, key, np.asarray(risk_aversion, jax.dtypes.canonicalize_dtype(float)))

    return inspect


class Evaluation(NamedTuple):
    """What came out of some episodes."""

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.returns.mean())


def evaluate(
    act: Callable[[NDArray[Any]], int],
    environment: CheckedEnvironment,
    episodes: int,
    seed: int,
    stream: int,
    *,
    first: int = 0,
    after_episode: Callable[[], None] = lambda: None,
    stop: Stop = never,
) -> Evaluation | None:
    """Play episodes, each seeded by its number in a stream, from `first` on; None after a stop."""
    returns, lengths = np.zeros(episodes), np.zeros(episodes, np.int64)
    for episode in range(episodes):
        obs, over = environment.reset(episode_seed(seed, stream, first + episode)), False
        while not over:
            if stop():
                return None
            found = environment.step(act(obs))
            obs, over = found.obs, found.terminated or found.truncated
            returns[episode] += found.reward
            lengths[episode] += 1
        after_episode()
    return Evaluation(returns, lengths)
