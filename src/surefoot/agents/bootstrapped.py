"""Bootstrapped DQN (Osband et al., 2016): several heads, one of which acts for an episode.

Every head learns from every transition: the heads differ by their initial weights, as in the paper's code.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from surefoot.agents.base import ChanceLearning, accept, assemble, epsilon_schedule, of_actions
from surefoot.architectures import Architecture
from surefoot.losses import bellman_target, huber
from surefoot.policies import epsilon_greedy, one_member, vote
from surefoot.types import Agent, Beliefs, RandomKey, Scalar, Transition


@dataclass(frozen=True, kw_only=True)
class Config(ChanceLearning):
    """Bootstrapped DQN's settings."""

    heads: int = 10
    """Number of heads."""

    def __post_init__(self) -> None:
        """Validate."""
        super().__post_init__()
        accept("heads", self.heads, self.heads >= 2, "from 2")


def make(config: Config, architecture: Architecture, actions: int) -> Agent:
    """Bootstrapped DQN for this many actions."""
    network = architecture.heads(config.heads, (actions,), config.gain)

    def loss(
        params: PyTree, target: PyTree, prior: PyTree, batch: Transition, data_count: Any, key: RandomKey
    ) -> Scalar:
        del prior, data_count, key
        best = jax.vmap(target)(batch.next_obs).max(axis=-1)  # [B, heads]
        targets = bellman_target(batch.reward, batch.terminated, best, config.discount)
        values = of_actions(jnp.moveaxis(jax.vmap(params)(batch.obs), -1, 1), batch.action)  # [B, heads]
        return jnp.mean(huber(targets - values))

    def beliefs(params: PyTree, obs: Array, key: RandomKey) -> Beliefs:
        del key
        members = params(obs)  # [heads, A]
        return Beliefs(
            mean=members.mean(axis=0),
            epistemic_variance=members.var(axis=0, ddof=1),
            members=members,
        )

    return assemble(
        config,
        init=lambda key: (network(key), None),
        loss=loss,
        target=lambda params: params,
        beliefs=beliefs,
        explore=epsilon_greedy(epsilon_schedule(config), one_member),
        exploit=vote,
    )
