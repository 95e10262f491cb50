"""Upper confidence bounds: the best action if each is as good as it may well be."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from surefoot.exploration.requirements import require_epistemic
from surefoot.settings import Settings, bounded
from surefoot.types import Action, Beliefs, ExplorerKind, Policy, RandomKey, RiskMeasure


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of upper confidence bounds."""

    optimism: float = bounded(1.0, at_least=0)
    """Epistemic standard deviations that are added to the value of an action (k)."""


def policy(optimism: float, risk: RiskMeasure) -> Policy:
    """The action of the highest value plus `optimism` epistemic standard deviations."""

    def act(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
        del step_key, episode_key, step
        return jnp.argmax(risk(beliefs) + optimism * require_epistemic("ucb", beliefs))

    return act


KIND = ExplorerKind(Config, lambda config, risk: policy(config.optimism, risk))
