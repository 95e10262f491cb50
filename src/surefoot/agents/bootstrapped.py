"""Bootstrapped DQN (Osband et al., 2016): several heads, one of which acts for an episode.

Every head learns from every transition: the heads differ by their initial weights, as in the paper's code.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, PyTree

from surefoot.agents.base import AgentConfig, AgentKind, build_value_agent, gather_actions
from surefoot.architectures import Architecture
from surefoot.exploration import epsilon_greedy
from surefoot.exploration.thompson import follow_one_member
from surefoot.losses import bellman_target, huber
from surefoot.networks import on_batch, with_prior_function
from surefoot.settings import bounded
from surefoot.types import Action, Agent, Beliefs, RandomKey, Scalar, Transition


@dataclass(frozen=True, kw_only=True)
class Config(epsilon_greedy.Config, AgentConfig):
    """Bootstrapped DQN's settings."""

    heads: int = bounded(10, at_least=2)
    """Number of heads."""
    head_prior_scale: float = bounded(0.0, at_least=0)
    """Factor of the fixed random network that is added to each head (Osband et al., 2018); 0: none."""


def make(config: Config, architecture: Architecture, actions: int, optimiser: Any = None) -> Agent:
    """Bootstrapped DQN for this many actions."""
    network = architecture.heads(config.heads, (actions,), gain=config.gain)
    if config.head_prior_scale > 0:
        network = with_prior_function(network, network, config.head_prior_scale)

    def loss(params: PyTree, target: PyTree, batch: Transition) -> Scalar:
        best = on_batch(target, batch.next_obs).max(axis=-1)  # [B, heads]
        targets = bellman_target(batch.reward, batch.terminated, best, config.discount)
        values = gather_actions(jnp.moveaxis(on_batch(params, batch.obs), -1, 1), batch.action)  # [B, heads]
        return jnp.mean(huber(targets - values))

    def beliefs(params: PyTree, obs: Array) -> Beliefs:
        members = params(obs)  # [heads, A]
        return Beliefs(
            mean=members.mean(axis=0),
            epistemic_variance=members.var(axis=0, ddof=1),
            members=members,
        )

    return build_value_agent(
        config,
        network,
        loss=loss,
        beliefs=beliefs,
        exploit=majority_vote,
        follow=follow_one_member,
        optimiser=optimiser,
    )


def majority_vote(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
    """The action that most heads rank best; of several such actions the first."""
    del step_key, episode_key, step
    assert beliefs.members is not None
    choices = jnp.argmax(beliefs.members, axis=-1)
    return jnp.argmax(jnp.bincount(choices, length=beliefs.members.shape[-1]))


KIND = AgentKind(
    "BootstrappedDQN",
    "Bootstrapped DQN: several heads, whose spread is the epistemic uncertainty.",
    Config,
    make,
)
