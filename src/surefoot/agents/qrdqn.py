"""QR-DQN (Dabney et al., 2017): quantiles of the return, epsilon-greedy on their mean."""

from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from surefoot.agents.base import (
    ChanceLearning,
    accept,
    assemble,
    epsilon_schedule,
    of_actions,
    quantile_targets,
)
from surefoot.architectures import Architecture
from surefoot.estimators import quantile_variance
from surefoot.losses import LEVELS, quantile_loss
from surefoot.policies import epsilon_greedy, greedy
from surefoot.types import Agent, Beliefs, RandomKey, Scalar, Transition


@dataclass(frozen=True, kw_only=True)
class Config(ChanceLearning):
    """QR-DQN's settings."""

    quantiles: int = 50
    """Quantiles of each action's return (N)."""
    kappa: float = 0.0
    """Width of the quadratic part of the quantile Huber loss; 0 is the paper's pinball loss."""
    levels: Literal["paper", "midpoints"] = "paper"
    """Quantile levels: i / (N + 1), or the released code's (i - 1/2) / N."""

    def __post_init__(self) -> None:
        """Validate."""
        super().__post_init__()
        accept("quantiles", self.quantiles, self.quantiles >= 2, "from 2")
        accept("kappa", self.kappa, self.kappa >= 0, "from 0")


RELEASED = {"levels": "midpoints", "gain": 3.0}
"""Settings of the released code where it differs from the paper."""


def make(config: Config, architecture: Architecture, actions: int) -> Agent:
    """QR-DQN for this many actions."""
    network = architecture.network((actions, config.quantiles), config.gain)
    levels = LEVELS[config.levels](config.quantiles)

    def loss(
        params: PyTree, target: PyTree, prior: PyTree, batch: Transition, data_count: Any, key: RandomKey
    ) -> Scalar:
        del prior, data_count, key
        targets = quantile_targets(target, batch, config.discount)
        quantiles = of_actions(jax.vmap(params)(batch.obs), batch.action)
        return jnp.mean(quantile_loss(quantiles, targets, levels, config.kappa))

    def beliefs(params: PyTree, obs: Array, key: RandomKey) -> Beliefs:
        del key
        quantiles = params(obs)
        return Beliefs(
            mean=quantiles.mean(axis=-1),
            aleatoric_variance=quantile_variance(quantiles),
            quantiles=quantiles,
        )

    return assemble(
        config,
        init=lambda key: (network(key), None),
        loss=loss,
        target=lambda params: params,
        beliefs=beliefs,
        explore=epsilon_greedy(epsilon_schedule(config)),
        exploit=greedy,
    )
