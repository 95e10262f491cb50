"""DQN (Mnih et al., 2015): mean values alone, Huber loss, epsilon-greedy."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from surefoot.agents.base import AgentConfig, AgentKind, build_agent, gather_actions
from surefoot.architectures import Architecture
from surefoot.exploration import epsilon_greedy
from surefoot.losses import bellman_target, huber
from surefoot.risk import greedy
from surefoot.types import Agent, Beliefs, RandomKey, Scalar, Transition


@dataclass(frozen=True, kw_only=True)
class Config(epsilon_greedy.Config, AgentConfig):
    """DQN's settings."""


def make(config: Config, architecture: Architecture, actions: int, optimiser: Any = None) -> Agent:
    """DQN for this many actions."""
    network = architecture.network((actions,), gain=config.gain)

    def loss(
        params: PyTree, target: PyTree, prior: PyTree, batch: Transition, data_count: Any, key: RandomKey
    ) -> Scalar:
        del prior, data_count, key
        best = jax.vmap(target)(batch.next_obs).max(axis=-1, keepdims=True)  # [B, 1]
        targets = bellman_target(batch.reward, batch.terminated, best, config.discount)[:, 0]
        values = gather_actions(jax.vmap(params)(batch.obs), batch.action)
        return jnp.mean(huber(targets - values))

    def beliefs(params: PyTree, obs: Array, key: RandomKey) -> Beliefs:
        del key
        return Beliefs(mean=params(obs))

    return build_agent(
        config,
        init=lambda key: (network(key), None),
        loss=loss,
        target=lambda params: params,
        beliefs=beliefs,
        explore=epsilon_greedy.policy(epsilon_greedy.epsilon_schedule(config)),
        exploit=greedy(),
        optimiser=optimiser,
    )


KIND = AgentKind("DQN", "DQN: mean values alone.", Config, make)
