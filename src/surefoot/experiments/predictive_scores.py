"""Scores of predictive distributions on data that were not learned from; for all of them, lower is better.

A prediction is made of draws from the posterior, each with a mean at every point, and of noise around them.
Taken together they are scored as a normal distribution, whose variance is the sum of both variances.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[Any]


def normal_nll(y: Values, mean: Values, variance: Values) -> float:
    """Mean negative log likelihood of a normal distribution at each point."""
    return float(np.mean(0.5 * np.log(2 * np.pi * variance) + (y - mean) ** 2 / (2 * variance)))


def crps(y: Values, samples: Values) -> float:
    """Continuous ranked probability score of samples, `[n]` and `[S, n]`, the mean over points.

    E|Y - y| - E|Y - Y'| / 2, the latter from sorted samples.
    """
    ordered = np.sort(samples, axis=0)
    count = len(ordered)
    weights = (2 * np.arange(1, count + 1) - count - 1)[:, None] / count**2
    return float(np.mean(np.abs(samples - y[None]).mean(axis=0) - (weights * ordered).sum(axis=0)))


def pair_nll(pair: Values, means: Values, noise: Values) -> float:
    """Mean negative log likelihood of pairs of observations, `[2, n]`, under a bivariate normal.

    Its covariance is that of the draws' means, `[K, 2, n]`, plus noise of each observation's own, `[2, n]`.
    """
    mean, degrees = means.mean(axis=0), len(means) - 1
    first, second = (means - mean).swapaxes(0, 1)  # [K, n] each
    of_first, of_second = ((part**2).sum(axis=0) / degrees for part in (first, second))
    covariance = (first * second).sum(axis=0) / degrees
    # The first observation, and then the second one given the first.
    slope = covariance / (of_first + noise[0])
    expected = mean[1] + slope * (pair[0] - mean[0])
    left = of_second + noise[1] - slope * covariance
    return normal_nll(pair[0], mean[0], of_first + noise[0]) + normal_nll(pair[1], expected, left)
