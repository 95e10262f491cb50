"""What an attitude to risk promised and what came of it: believed beside realised."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from surefoot.errors import UserError
from surefoot.risk import NamedRiskMeasure
from surefoot.statistics import Estimate, bootstrap_estimate
from surefoot.types import Beliefs


def of_samples(measure: NamedRiskMeasure, samples: NDArray[Any]) -> NDArray[np.float64]:
    """A risk measure of the returns on the last axis, as equally likely ones; their spread is all chance."""
    rows = samples.reshape(-1, samples.shape[-1])
    beliefs = Beliefs(
        mean=jnp.asarray(rows.mean(axis=-1), float),
        aleatoric_variance=jnp.asarray(rows.var(axis=-1, ddof=min(1, rows.shape[-1] - 1)), float),
        quantiles=jnp.asarray(rows, float),
    )
    return np.asarray(measure(beliefs), float).reshape(samples.shape[:-1])


def realised(measure: NamedRiskMeasure, returns: NDArray[Any]) -> Estimate | None:
    """A risk measure of the returns of episodes, with its bootstrap interval over episodes.

    None for a measure of what returns do not have, such as `pessimism`. There is no interval where one
    episode alone decides: resamples of the episodes that there are know nothing of a worse one.
    """
    one = Beliefs(jnp.zeros(1), aleatoric_variance=jnp.zeros(1), quantiles=jnp.zeros((1, 1)))
    try:
        measure(one)
    except (UserError, TypeError, AttributeError):  # The last two: a user's own that reads what is None.
        return None
    try:
        measure.require_served_by(one._replace(quantiles=jnp.zeros((1, len(returns)))))
    except UserError:
        return Estimate(float(of_samples(measure, returns)), None)
    return bootstrap_estimate(lambda strata: of_samples(measure, strata[0]), [returns])


class RiskOutcome(NamedTuple):
    """The attitude to risk of an evaluation, episode by episode."""

    measure: NamedRiskMeasure
    discount: float
    believed: NDArray[np.float64]
    """The measure's value of the first action, by the agent's beliefs about its first observation."""
    discounted_returns: NDArray[np.float64]
    """What came of it, discounted as beliefs are."""

    @property
    def believed_mean(self) -> float:
        """Mean over episodes of what the agent believed."""
        return float(self.believed.mean())

    @property
    def realised(self) -> Estimate | None:
        """The same measure of the discounted returns; None if returns do not have it."""
        return realised(self.measure, self.discounted_returns)
