"""Thompson sampling: the best action of a sample from what the agent believes about the mean returns.

Samples are drawn from N(mu - lambda sigma_aleatoric, beta sigma_epistemic^2) (Algorithm 1), where
`exploration` is beta and any risk measure may stand for the mean.
Departure: the released code multiplies the standard deviation by its factor, and so the variance by its
square.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from surefoot.errors import UserError
from surefoot.exploration.requirements import require_epistemic
from surefoot.settings import Settings
from surefoot.types import (
    Action,
    Beliefs,
    ChooseKey,
    ExplorerKind,
    Policy,
    RandomKey,
    RiskMeasure,
    key_of_episode,
    key_of_step,
)


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Thompson sampling has no settings of its own; its strength is the agent's `exploration`."""


def policy(exploration: float, risk: RiskMeasure, choose_key: ChooseKey) -> Policy:
    """The best of samples that are drawn with one of the two keys."""

    def act(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
        del step
        mean, epistemic = risk(beliefs), require_epistemic("thompson", beliefs)
        noise = jax.random.normal(choose_key(step_key, episode_key), mean.shape)
        return jnp.argmax(mean + jnp.sqrt(exploration) * epistemic * noise)

    return act


def follow_one_member(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
    """The best action according to one member of an ensemble, the same one for a whole episode."""
    del step_key, step
    if beliefs.members is None:
        raise UserError("explorer: got thompson-draw for an agent without an ensemble, accepted: thompson")
    member = jax.random.randint(episode_key, (), 0, beliefs.members.shape[0])
    return jnp.argmax(beliefs.members[member])


PER_STEP = ExplorerKind(Config, lambda config, risk: policy(config.exploration, risk, key_of_step))
"""A new sample at each step, as in the paper."""

PER_EPISODE = ExplorerKind(Config, lambda config, risk: policy(config.exploration, risk, key_of_episode))
"""One normal draw per action for a whole episode, so that exploration follows a plan."""

PER_DRAW = ExplorerKind(Config, lambda _config, _risk: follow_one_member, key_of_episode)
"""One network of the posterior for a whole episode, as if it were right (Osband et al., 2016).

Networks differ in their means; the attitude to risk does not apply while exploring."""
