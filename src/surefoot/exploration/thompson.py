"""Thompson sampling: the best action of a sample from what the agent believes about the mean returns.

Samples are drawn from N(mu - lambda sigma_aleatoric, beta sigma_epistemic^2) (Algorithm 1), where
`exploration` is beta and any risk measure may stand for the mean.
Departure: the released code multiplies the standard deviation by its factor, and so the variance by its
square.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from surefoot.errors import UserError
from surefoot.settings import Settings
from surefoot.types import Action, Beliefs, ExplorerKind, Policy, RandomKey, RiskMeasure

ChooseKey = Callable[[RandomKey, RandomKey], RandomKey]
"""Of the keys of this step and of this episode, the one that samples are drawn with."""


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Thompson sampling has no settings of its own; its strength is the agent's `exploration`."""


def policy(exploration: float, risk: RiskMeasure, choose_key: ChooseKey) -> Policy:
    """The best of samples that are drawn with one of the two keys."""

    def act(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
        del step
        if beliefs.epistemic is None:
            raise UserError(
                "explorer: got thompson for an agent without epistemic uncertainty, accepted: epsilon-greedy"
            )
        mean = risk(beliefs)
        noise = jax.random.normal(choose_key(step_key, episode_key), mean.shape)
        return jnp.argmax(mean + jnp.sqrt(exploration) * beliefs.epistemic * noise)

    return act


PER_STEP = ExplorerKind(
    Config, lambda config, risk: policy(config.exploration, risk, lambda step_key, _: step_key)
)
"""A new sample at each step, as in the paper."""

PER_EPISODE = ExplorerKind(
    Config, lambda config, risk: policy(config.exploration, risk, lambda _, episode_key: episode_key)
)
"""One normal draw per action for a whole episode, so that exploration follows a plan."""
