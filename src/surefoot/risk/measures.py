"""Risk measures, one a function: beliefs and numbers in, one value per action out.

A measure of quantiles takes the N quantiles of the value network as N equally likely returns. They hold
chance and, where data are few, what the network has not learned as well: a value network that is sure of
nothing looks risky, too. Only `mean_sd` (chance alone) and `pessimism` (ignorance alone) tell them apart.

A distortion measure is the mean of the returns under other probabilities: a distortion says how much of the
weight the lowest part of the returns gets, given how likely that part is. A concave one is averse to risk.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr
from jaxtyping import Array, Float
from numpy.typing import NDArray
from scipy.special import ndtri

from surefoot.errors import UserError
from surefoot.types import Beliefs

Values = Float[Array, "*batch A"]
Weights = Float[Array, "levels"]

Distortion = Callable[[NDArray[np.float64]], Weights]
"""From the probability of the lowest returns to their weight; from 0 to 0 and from 1 to 1, never falling."""


def mean(beliefs: Beliefs) -> Values:
    """The expected return: neutral to risk. It averages over chance and knows nothing of ignorance."""
    return beliefs.mean


def mean_sd(beliefs: Beliefs, risk_aversion: Any) -> Values:
    """Mean less risk aversion (lambda) times the aleatoric standard deviation (Algorithm 1).

    Caution about chance: UA-DQN's estimate of it is unbiased by what was not learned (eq. 7). QR-DQN's is the
    spread of its quantiles, which holds both.
    """
    if beliefs.aleatoric is None:
        raise UserError("risk: got mean-sd for an agent without aleatoric uncertainty, accepted: mean")
    return beliefs.mean - risk_aversion * beliefs.aleatoric


def pessimism(beliefs: Beliefs, kappa: Any) -> Values:
    """Mean less kappa times the epistemic standard deviation.

    Caution about what was not learned, apart from caution about chance: it fades as the agent learns, and a
    gamble whose odds are known is no worse than its mean.
    """
    if beliefs.epistemic is None:
        raise UserError("risk: got pessimism for an agent without epistemic uncertainty, accepted: mean")
    return beliefs.mean - kappa * beliefs.epistemic


def cvar(beliefs: Beliefs, alpha: Any) -> Values:
    """Conditional value at risk: the mean of the worst part alpha of the value network's quantiles.

    The quantile at the border of that part counts with the fraction of it that belongs there.
    """
    return distorted(_quantiles("cvar", beliefs), partial(worst_part, alpha=alpha))


def wang(beliefs: Beliefs, eta: Any) -> Values:
    """Wang's measure of the value network's quantiles: their normal scores are moved by eta.

    As in IQN, eta below 0 is averse to risk, the lower quantiles count more; eta above 0 seeks it.
    """
    return distorted(_quantiles("wang", beliefs), partial(moved_normal, eta=eta))


def power(beliefs: Beliefs, xi: Any) -> Values:
    """The power measure of the value network's quantiles.

    As in IQN, xi below 0 is averse to risk: for a whole number the expected worst of 1 + |xi| returns; xi
    above 0 seeks it: the expected best of 1 + xi.
    """
    return distorted(_quantiles("power", beliefs), partial(powers, xi=xi))


def entropic(beliefs: Beliefs, beta: Any) -> Values:
    """Entropic measure -log E[exp(-beta Z)] / beta of the value network's quantiles.

    As in the literature on it, beta above 0 is averse to risk and beta below 0 seeks it; its unit is 1 over
    that of the return. For a normal return it is the mean less beta / 2 times the variance.
    """
    exponents = -beta * _quantiles("entropic", beliefs)
    # From the largest term, so that none overflows; expm1 and log1p keep digits where beta is small.
    largest = exponents.max(axis=-1, keepdims=True)
    log_mean = largest[..., 0] + jnp.log1p(jnp.expm1(exponents - largest).mean(axis=-1))
    is_neutral = jnp.asarray(beta == 0)
    return jnp.where(is_neutral, beliefs.mean, -log_mean / jnp.where(is_neutral, 1.0, beta))


def budgeted_cvar(beliefs: Beliefs, alpha: Any) -> Values:
    """What the budget b promises of the static CVaR: b - E[(b - Z)+] / alpha under an action's quantiles.

    Its highest value over budgets is the CVaR of the whole episode's return (Rockafellar and Uryasev, 2000).
    For a given budget, the best action is the one of the least expected shortfall (Baeuerle and Ott, 2011).
    """
    assert beliefs.budget is not None
    budget = beliefs.budget[..., None]
    shortfall = jnp.maximum(budget[..., None] - _quantiles("cvar", beliefs), 0).mean(axis=-1)
    return budget - shortfall / alpha


def distorted(quantiles: Float[Array, "*batch A N"], distortion: Distortion) -> Values:
    """The mean of N equally likely returns with the weights that a distortion gives them, lowest first."""
    weights = jnp.diff(distortion(np.linspace(0, 1, quantiles.shape[-1] + 1)))
    return jnp.sort(quantiles, axis=-1) @ weights


def worst_part(levels: NDArray[np.float64], alpha: Any) -> Weights:
    """All weight on the worst part alpha, evenly (CVaR)."""
    return jnp.minimum(jnp.asarray(levels, float) / alpha, 1.0)


def moved_normal(levels: NDArray[np.float64], eta: Any) -> Weights:
    """Normal scores of levels, moved by eta (Wang, 2000)."""
    return ndtr(jnp.asarray(ndtri(levels), float) - eta)


def powers(levels: NDArray[np.float64], xi: Any) -> Weights:
    """The distribution of the lowest of 1 + |xi| levels if xi is below 0, else of the highest of 1 + xi."""
    level, exponent = jnp.asarray(levels, float), 1 + jnp.abs(xi)
    return jnp.where(xi < 0, 1 - (1 - level) ** exponent, level**exponent)


def _quantiles(measure: str, beliefs: Beliefs) -> Float[Array, "*batch A N"]:
    if beliefs.quantiles is None:
        raise UserError(f"risk: got {measure} for an agent without quantiles, accepted: mean")
    return beliefs.quantiles
