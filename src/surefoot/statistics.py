"""Estimates with intervals from independent repetitions."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from surefoot.types import Interval


class Estimate(NamedTuple):
    """A number and the interval it is known to; no interval where repetitions are too few."""

    measured: float
    interval: Interval | None


def mean_estimate(values: NDArray[Any], confidence: float = 0.95) -> Estimate:
    """Mean over repetitions with Student's interval."""
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, None)
    return _student(mean, stats.sem(values), len(values), confidence)


def ratio_estimate(ratios: NDArray[Any], confidence: float = 0.95) -> Estimate:
    """Geometric mean over repetitions: a ratio of 2 and one of 1/2 balance each other."""
    measured, interval = mean_estimate(np.log(ratios), confidence)
    return Estimate(
        float(np.exp(measured)), None if interval is None else (np.exp(interval[0]), np.exp(interval[1]))
    )


def jackknife_estimate(
    statistic: Callable[[NDArray[Any]], float], values: NDArray[Any], confidence: float = 0.95
) -> Estimate:
    """A smooth statistic of all repetitions together (first axis), with its jackknife interval."""
    count = len(values)
    value = float(statistic(values))
    # Leaving one out must still leave two, or a variance over repetitions has no meaning.
    if count < 3:
        return Estimate(value, None)
    left_out = np.array([statistic(np.delete(values, i, axis=0)) for i in range(count)])
    error = np.sqrt((count - 1) * left_out.var())
    return _student(value, error, count, confidence)


def _student(value: float, standard_error: float, count: int, confidence: float) -> Estimate:
    reach = float(stats.t.ppf((1 + confidence) / 2, count - 1) * standard_error)
    return Estimate(value, (value - reach, value + reach))


def fraction_estimate(happened: NDArray[Any], confidence: float = 0.95) -> Estimate:
    """How often something happened, with Wilson's interval, which stays sound near 0 and 1."""
    happened = np.asarray(happened, dtype=bool)
    found = stats.binomtest(int(happened.sum()), len(happened)).proportion_ci(confidence, method="wilson")
    return Estimate(float(happened.mean()), (float(found.low), float(found.high)))
