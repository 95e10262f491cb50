"""DQN (Mnih et al., 2015): mean values alone, Huber loss, epsilon-greedy."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, PyTree

from surefoot.agents.base import AgentConfig, AgentKind, build_value_agent, gather_actions
from surefoot.architectures import Architecture
from surefoot.exploration import epsilon_greedy
from surefoot.losses import bellman_target, huber
from surefoot.networks import on_batch
from surefoot.types import Agent, Beliefs, Scalar, Transition


@dataclass(frozen=True, kw_only=True)
class Config(epsilon_greedy.Config, AgentConfig):
    """DQN's settings."""


def make(config: Config, architecture: Architecture, actions: int, optimiser: Any = None) -> Agent:
    """DQN for this many actions."""
    network = architecture.network((actions,), gain=config.gain)

    def loss(params: PyTree, target: PyTree, batch: Transition) -> Scalar:
        best = on_batch(target, batch.next_obs).max(axis=-1, keepdims=True)  # [B, 1]
        targets = bellman_target(batch.reward, batch.terminated, best, config.discount)[:, 0]
        values = gather_actions(on_batch(params, batch.obs), batch.action)
        return jnp.mean(huber(targets - values))

    def beliefs(params: PyTree, obs: Array) -> Beliefs:
        return Beliefs(mean=params(obs))

    return build_value_agent(config, network, loss=loss, beliefs=beliefs, optimiser=optimiser)


KIND = AgentKind("DQN", "DQN: mean values alone.", Config, make)
