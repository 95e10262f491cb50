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


def pair_nll(pair: Values, mean: Values, epistemic: Values, noise: Values) -> float:
    """Mean negative log likelihood of two observations at each point, `[2, n]`, given both variances.

    The two share what is not known about the mean, and have noise of their own: a bivariate normal with
    covariance `epistemic`. Its axes are the sum and the difference of the two.
    """
    first, second = pair
    of_sum = normal_nll(first + second, 2 * mean, 2 * noise + 4 * epistemic)
    of_difference = normal_nll(first - second, np.zeros_like(first), 2 * noise)
    return of_sum + of_difference - float(np.log(2))  # The area that the change of axes doubles.
