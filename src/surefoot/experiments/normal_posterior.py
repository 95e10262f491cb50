"""Normal posteriors over quantiles, whose variances and estimation errors are known in closed form.

With mean m, covariance V and A = (I - 11'/N) / N,

- the epistemic variance is tr(V) / N and the aleatoric one m'Am (eq. 4, 5);
- the variance of one set of quantiles has expectation m'Am + tr(AV) (Proposition 2.1);
- over K draws the epistemic estimate has variance 2 tr(VV) / (N^2 (K - 1)), the aleatoric one
  4 m'AVAm / K + 2 tr(AVAV) / (K (K - 1)) (Proposition 2.3, where K = 2).
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats


class NormalPosterior(NamedTuple):
    """Quantiles that are jointly normal under the posterior, and the exact values that follow."""

    mean: NDArray[Any]
    covariance: NDArray[Any]

    @property
    def epistemic_variance(self) -> float:
        """The epistemic variance (eq. 4)."""
        return float(np.trace(self.covariance) / len(self.mean))

    @property
    def aleatoric_variance(self) -> float:
        """The aleatoric variance (eq. 5)."""
        return float(self.mean.var())

    @property
    def quantile_variance_bias(self) -> float:
        """Bias of the variance of one set of quantiles as an estimator of eq. 5 (Proposition 2.1)."""
        return float(np.trace(_centring(self.mean) @ self.covariance))

    def epistemic_estimator_variance(self, draws: int = 2) -> float:
        """Variance of the epistemic estimator (Proposition 2.3), for any number of draws."""
        squared = np.sum(self.covariance**2)
        return float(2 * squared / (len(self.mean) ** 2 * (draws - 1)))

    def aleatoric_estimator_variance(self, draws: int = 2) -> float:
        """Variance of the aleatoric estimator (Proposition 2.3), for any number of draws."""
        form = _centring(self.mean)
        spread = form @ self.covariance
        linear = self.mean @ spread @ form @ self.mean
        return float(4 * linear / draws + 2 * np.sum(spread * spread.T) / (draws * (draws - 1)))

    def sample(self, rng: np.random.Generator, draws: int, count: int) -> NDArray[Any]:
        """`count` independent sets of draws, `[draws, count, N]`."""
        noise = rng.standard_normal((draws, count, len(self.mean)))
        return self.mean + _scaled(noise, self.covariance)


def _centring(mean: NDArray[Any]) -> NDArray[Any]:
    count = len(mean)
    return (np.eye(count) - 1 / count) / count


def _scaled(noise: NDArray[Any], covariance: NDArray[Any]) -> NDArray[Any]:
    """Standard normal noise scaled to this covariance, without a matrix product if it is diagonal."""
    variances = np.diag(covariance)
    if not np.any(covariance - np.diag(variances)):
        return noise * np.sqrt(variances)
    values, vectors = np.linalg.eigh(covariance)
    return noise @ (vectors * np.sqrt(np.maximum(values, 0))).T


def posterior_after(observations: float, quantiles: int) -> NormalPosterior:
    """The posterior of a prior N(0, 1) on each quantile of a standard normal return, uncorrelated.

    An observation is one noisy measurement, of variance 1, of every quantile. The true quantiles are scaled
    to variance 1, so that the aleatoric variance does not depend on their number.
    """
    true = stats.norm.ppf(np.arange(1, quantiles + 1) / (quantiles + 1))
    true = true / true.std()
    variance = 1 / (1 + observations)
    return NormalPosterior(observations * variance * true, variance * np.eye(quantiles))


def correlated(correlation: float, quantiles: int = 50) -> NormalPosterior:
    """A posterior of unit variances with one correlation for all pairs of outputs; 1 is a common shift."""
    mean = posterior_after(2, quantiles).mean
    shared = np.full((quantiles, quantiles), correlation)
    return NormalPosterior(mean, (1 - correlation) * np.eye(quantiles) + shared)
