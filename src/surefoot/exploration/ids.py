"""Information-directed sampling (Nikolov et al., 2019), with both uncertainties from one framework.

An action is valued by the square of what it may cost over what it teaches:

- regret: the highest upper bound of any action, mean + lambda x epistemic, less the action's lower bound;
- information gain: log(1 + epistemic^2 / noise^2), where noise^2 is the action's aleatoric variance divided
  by the mean aleatoric variance of all actions.

An action whose return is noisy teaches little, however uncertain its mean is: this is where it differs from
upper confidence bounds and Thompson sampling.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from surefoot.errors import UserError
from surefoot.exploration.requirements import require_epistemic
from surefoot.settings import Settings, bounded
from surefoot.types import Action, Beliefs, ExplorerKind, Policy, RandomKey, RiskMeasure

SMALL = 1e-5
"""Added to the mean aleatoric variance and to the gain against divisions by zero (epsilon_1, epsilon_2)."""

ActionValues = Float[Array, "A"]


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of information-directed sampling; the defaults are those of the article."""

    regret_width: float = bounded(0.1, at_least=0)
    """Epistemic standard deviations to either side of the mean in the regret (lambda)."""
    min_noise: float = bounded(0.25, above=0)
    """Lowest relative noise of an action, as a variance."""


def regret(values: ActionValues, epistemic: ActionValues, width: float) -> ActionValues:
    """What each action may cost: the best upper bound less its own lower bound."""
    return jnp.max(values + width * epistemic) - (values - width * epistemic)


def relative_noise(aleatoric_variance: ActionValues, min_noise: float) -> ActionValues:
    """Aleatoric variance of each action over the mean of all, at least `min_noise`."""
    variance = jnp.maximum(aleatoric_variance, 0)
    return jnp.maximum(variance / (SMALL + jnp.mean(variance)), min_noise)


def information_gain(epistemic: ActionValues, noise_variance: ActionValues) -> ActionValues:
    """What each action teaches."""
    return jnp.log1p(epistemic**2 / noise_variance) + SMALL


def best_ratio(costs: ActionValues, gains: ActionValues) -> Action:
    """Deterministic: the action of the lowest squared regret per information."""
    return jnp.argmin(costs**2 / gains)


def sample_best_mixture(costs: ActionValues, gains: ActionValues, key: RandomKey) -> Action:
    """Randomised: a sample from the mixture of the lowest squared mean regret per mean information.

    Two actions are enough for the best mixture (Russo and Van Roy, 2014, proposition 6). For each pair,
    the best probability q of the second minimises (a + q b)^2 / (c + q d), which has its only zero of the
    derivative between the ends at q = (a d - 2 b c) / (b d).
    """
    cost, cost_step = costs[:, None], costs[None, :] - costs[:, None]  # [A, A]
    gain, gain_step = gains[:, None], gains[None, :] - gains[:, None]
    product = cost_step * gain_step
    inner = (cost * gain_step - 2 * cost_step * gain) / jnp.where(product == 0, 1.0, product)
    # Outside of 0 to 1 an end is best; each end is an action alone, which the diagonal has.
    shares = jnp.where(product == 0, 0.0, jnp.clip(inner, 0, 1))
    ratios = (cost + shares * cost_step) ** 2 / (gain + shares * gain_step)
    one, other = jnp.unravel_index(jnp.argmin(ratios), ratios.shape)
    return jnp.where(jax.random.uniform(key) < shares[one, other], other, one)


def policy(config: Any, risk: RiskMeasure, *, randomised: bool) -> Policy:
    """The policy of the lowest squared regret per information, over actions or over their mixtures."""

    def act(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
        del episode_key, step
        epistemic = require_epistemic("ids", beliefs)
        if beliefs.aleatoric_variance is None:
            raise UserError("explorer: got ids for an agent without aleatoric uncertainty, accepted: ucb")
        costs = regret(risk(beliefs), epistemic, config.regret_width)
        gains = information_gain(epistemic, relative_noise(beliefs.aleatoric_variance, config.min_noise))
        return sample_best_mixture(costs, gains, step_key) if randomised else best_ratio(costs, gains)

    return act


DETERMINISTIC = ExplorerKind(Config, lambda config, risk: policy(config, risk, randomised=False))
"""The one best action, as in the article's experiments."""

RANDOMISED = ExplorerKind(Config, lambda config, risk: policy(config, risk, randomised=True))
"""The best mixture of two actions."""
