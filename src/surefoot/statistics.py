"""Estimates with intervals from independent repetitions."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from surefoot.types import Interval

Strata = Sequence[NDArray[Any]]
"""Scores of the repetitions of each of several tasks, which need not be equally many."""
RESAMPLES = 2_000


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


def interquartile_mean(values: Any) -> float:
    """Mean of the middle half: steadier than a median, and deaf to a few lucky seeds."""
    ordered = np.sort(np.ravel(values))
    cut = len(ordered) // 4
    return float(ordered[cut : len(ordered) - cut].mean())


def interquartile_mean_over(strata: Strata) -> float:
    """Of all repetitions of all tasks together."""
    return interquartile_mean(np.concatenate(strata))


def probability_of_improvement(ours: Strata, theirs: Strata) -> float:
    """How likely ours beats theirs on the same task, mean over tasks; a tie is half.

    NaN where a score is: a run of which nothing is known neither wins nor loses.
    """
    if np.isnan(np.concatenate([*ours, *theirs])).any():
        return float("nan")
    chances = [
        np.mean((one[:, None] > other) + (one[:, None] == other) / 2)
        for one, other in zip(ours, theirs, strict=True)
    ]
    return float(np.mean(chances))


def bootstrap_estimate(
    statistic: Callable[..., float], *groups: Strata, confidence: float = 0.95, seed: int = 0
) -> Estimate:
    """A statistic of groups of scores, with its stratified bootstrap interval (percentiles).

    Repetitions are drawn anew within each task, so that every task keeps its weight.
    """
    everything = [scores for strata in groups for scores in strata]
    # A score that is missing may be any: a trimmed mean, say, would pass over it.
    value = float("nan") if np.isnan(np.concatenate(everything)).any() else float(statistic(*groups))
    if np.isnan(value) or any(len(scores) < 2 for scores in everything):
        return Estimate(value, None)
    rng = np.random.default_rng(seed)
    resampled = [
        [scores[rng.integers(len(scores), size=(RESAMPLES, len(scores)))] for scores in strata]
        for strata in groups
    ]
    drawn = [statistic(*([each[i] for each in strata] for strata in resampled)) for i in range(RESAMPLES)]
    # A draw may have no value, as a ratio of spreads has none where all repetitions are the same.
    ends = np.nanquantile(drawn, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(value, (float(ends[0]), float(ends[1])))


def window_means(steps: NDArray[Any], values: NDArray[Any], grid: NDArray[Any]) -> NDArray[np.float64]:
    """Mean of the values that fall into each window of a grid of steps, its ends given; NaN where none do.

    A window ends with its step: the first is `(0, grid[0]]`.
    """
    window = np.searchsorted(grid, steps)
    inside = window < len(grid)
    counts = np.bincount(window[inside], minlength=len(grid))
    sums = np.bincount(window[inside], np.asarray(values, float)[inside], minlength=len(grid))
    return np.divide(sums, counts, out=np.full(len(grid), np.nan), where=counts > 0)
