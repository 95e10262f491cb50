"""QR-DQN (Dabney et al., 2017): quantiles of the return, epsilon-greedy on their mean or another measure."""

from dataclasses import dataclass
from typing import Any, Literal

import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from surefoot.agents import objectives
from surefoot.agents.base import AgentConfig, AgentKind, build_value_agent, gather_actions, quantile_targets
from surefoot.agents.objectives import objective_of, quantile_belief_shapes
from surefoot.architectures import Architecture
from surefoot.estimators import quantile_variance
from surefoot.exploration import epsilon_greedy
from surefoot.losses import LEVELS, quantile_loss
from surefoot.networks import on_batch
from surefoot.risk import best_action
from surefoot.settings import bounded
from surefoot.types import Agent, Beliefs, Scalar, Transition


@dataclass(frozen=True, kw_only=True)
class QuantileConfig(objectives.Config):
    """Settings of agents that learn quantiles of the return."""

    quantiles: int = bounded(50, at_least=2)
    """Quantiles of each action's return (N)."""
    kappa: float = bounded(0.0, at_least=0)
    """Width of the quadratic part of the quantile Huber loss; 0 is the paper's pinball loss."""
    levels: Literal["paper", "midpoints"] = "paper"
    """Quantile levels: i / (N + 1) as in the paper, or (i - 1/2) / N as in the released code."""


@dataclass(frozen=True, kw_only=True)
class Config(QuantileConfig, epsilon_greedy.Config, AgentConfig):
    """QR-DQN's settings."""


CALIBRATED_SETTINGS: dict[str, Any] = {"levels": "midpoints", "kappa": 0.0}
"""Settings under which the spread of a bootstrapped return does not shrink (docs/paper_map.md)."""

CALIBRATED_ON_VECTORS = {"quantiles": 20}
"""In addition, where there are few data: each of fewer quantiles learns from more."""

RELEASED_SETTINGS = {"levels": "midpoints", "gain": 3.0}
"""Settings of the released code where it differs from the paper."""


def make(config: Config, architecture: Architecture, actions: int, optimiser: Any = None) -> Agent:
    """QR-DQN for this many actions."""
    network = architecture.network((actions, config.quantiles), gain=config.gain)
    levels = LEVELS[config.levels](config.quantiles)
    objective = objective_of(config, quantile_belief_shapes(config.quantiles, epistemic=False))

    def loss(params: PyTree, target: PyTree, batch: Transition) -> Scalar:
        next_quantiles = on_batch(target, batch.next_obs)  # [B, A, N]
        actions = best_action(believed(next_quantiles, batch.next_obs), objective.target)
        targets = quantile_targets(next_quantiles, batch, config.discount, actions)
        quantiles = gather_actions(on_batch(params, batch.obs), batch.action)
        return jnp.mean(quantile_loss(quantiles, targets, levels, config.kappa))

    def believed(quantiles: Float[Array, "*batch A N"], obs: Array) -> Beliefs:
        return Beliefs(
            mean=quantiles.mean(axis=-1),
            aleatoric_variance=quantile_variance(quantiles),
            quantiles=quantiles,
            budget=objective.budget_of(obs),
        )

    def beliefs(params: PyTree, obs: Array) -> Beliefs:
        return believed(params(obs), obs)

    return build_value_agent(
        config, network, loss=loss, beliefs=beliefs, objective=objective, optimiser=optimiser
    )


KIND = AgentKind("QRDQN", "QR-DQN: quantiles of the return.", Config, make)
