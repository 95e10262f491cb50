"""Estimates with confidence intervals, from independent repetitions."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from surefoot.text import finite_or_none
from surefoot.types import Interval

Strata = Sequence[NDArray[Any]]
"""For each of several tasks the scores of its repetitions, whose number may differ by task.

Repetitions are the last axis, so that a statistic is computed for all resamples at once.
"""
Measured = NDArray[np.float64] | np.float64
"""One number for each of the axes before the last."""
RESAMPLES = 2_000
"""Resamples of a bootstrap."""
MIN_REPETITIONS = 3
"""Fewest repetitions of each task that a bootstrap gives an interval for: two resample to three values."""
MIN_SEEDS_TO_DECIDE = 5
"""Fewest seeds of each task that decide which of two agents is better. Of two agents that are alike, a 95 %
bootstrap of the difference prefers one in 20 % of cases with 3 seeds, 7 % with 5, 5 % with 10 (4,000
simulated pairs each, normal scores)."""


class Estimate(NamedTuple):
    """A measured number and its confidence interval, which is None if repetitions are too few."""

    measured: float
    interval: Interval | None

    def as_json(self) -> dict[str, Any]:
        """Plain data, in which a number that is not finite is null."""
        interval = None if self.interval is None else [finite_or_none(end) for end in self.interval]
        return {"measured": finite_or_none(self.measured), "interval": interval}


def mean_estimate(values: NDArray[Any], confidence: float = 0.95) -> Estimate:
    """Mean over repetitions, with Student's interval."""
    values = np.asarray(values, dtype=float)
    mean = float(values.mean())
    if len(values) < 2:
        return Estimate(mean, None)
    return _student(mean, stats.sem(values), len(values), confidence)


def ratio_estimate(ratios: NDArray[Any], confidence: float = 0.95) -> Estimate:
    """Geometric mean over repetitions, in which a ratio of 2 and one of 1/2 balance each other."""
    measured, interval = mean_estimate(np.log(ratios), confidence)
    return Estimate(
        float(np.exp(measured)), None if interval is None else (np.exp(interval[0]), np.exp(interval[1]))
    )


def jackknife_estimate(
    statistic: Callable[[NDArray[Any]], float], values: NDArray[Any], confidence: float = 0.95
) -> Estimate:
    """A smooth statistic of all repetitions (the first axis), with its jackknife interval."""
    count = len(values)
    value = float(statistic(values))
    # With one left out, two must remain, or a variance over repetitions is not defined.
    if count < 3:
        return Estimate(value, None)
    left_out = np.array([statistic(np.delete(values, i, axis=0)) for i in range(count)])
    error = np.sqrt((count - 1) * left_out.var())
    return _student(value, error, count, confidence)


def _student(value: float, standard_error: float, count: int, confidence: float) -> Estimate:
    reach = float(stats.t.ppf((1 + confidence) / 2, count - 1) * standard_error)
    return Estimate(value, (value - reach, value + reach))


def fraction_estimate(outcomes: NDArray[Any], confidence: float = 0.95) -> Estimate:
    """The fraction of outcomes that are true, with Wilson's interval, which stays valid near 0 and 1."""
    outcomes = np.asarray(outcomes, dtype=bool)
    interval = stats.binomtest(int(outcomes.sum()), len(outcomes)).proportion_ci(confidence, method="wilson")
    return Estimate(float(outcomes.mean()), (float(interval.low), float(interval.high)))


def interquartile_mean(values: Any) -> Measured:
    """Mean of the middle half of the values: it varies less than a median and ignores outliers."""
    ordered = np.sort(np.asarray(values, float), axis=-1)
    count = ordered.shape[-1]
    return ordered[..., count // 4 : count - count // 4].mean(axis=-1)


def interquartile_mean_over(strata: Strata) -> Measured:
    """Interquartile mean of all repetitions of all tasks."""
    return interquartile_mean(np.concatenate(strata, axis=-1))


def interquartile_mean_difference(one: Strata, other: Strata) -> Measured:
    """By how much the interquartile mean of one agent is above that of another."""
    return interquartile_mean_over(one) - interquartile_mean_over(other)


def mean_over(strata: Strata) -> Measured:
    """Mean over tasks of the mean over repetitions."""
    return np.mean([scores.mean(axis=-1) for scores in strata], axis=0)


def probability_of_improvement(one: Strata, other: Strata) -> Measured:
    """Probability that a run of one agent beats a run of another, as a mean over tasks; a tie is half.

    NaN if a score is NaN: a run without a score neither wins nor loses.
    """
    return np.mean([_wins(scores, others) for scores, others in zip(one, other, strict=True)], axis=0)


def _wins(scores: NDArray[Any], others: NDArray[Any]) -> Measured:
    """The part of all pairs in which the score is higher; a tie is half a win."""
    signs = np.sign(scores[..., :, None] - others[..., None, :])
    return (signs.mean(axis=(-2, -1)) + 1) / 2


def bootstrap_estimate(
    statistic: Callable[..., Any], *groups: Strata, confidence: float = 0.95, seed: int = 0
) -> Estimate:
    """A statistic of groups of scores, with its stratified bootstrap interval (percentiles).

    Repetitions are resampled within each task, so that every task keeps its weight.
    """
    all_scores = [scores for strata in groups for scores in strata]
    # A missing score could have any value; a trimmed mean, for instance, would ignore it.
    value = float("nan") if np.isnan(np.concatenate(all_scores)).any() else float(statistic(*groups))
    if np.isnan(value) or any(len(scores) < MIN_REPETITIONS for scores in all_scores):
        return Estimate(value, None)
    rng = np.random.default_rng(seed)
    resampled = [
        [scores[rng.integers(len(scores), size=(RESAMPLES, len(scores)))] for scores in strata]
        for strata in groups
    ]
    # A resample may give NaN: a ratio of spreads, for instance, if all its repetitions are equal.
    ends = np.nanquantile(statistic(*resampled), [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(value, (float(ends[0]), float(ends[1])))


def window_means(steps: NDArray[Any], values: NDArray[Any], grid: NDArray[Any]) -> NDArray[np.float64]:
    """Mean of the values in each window of steps; NaN where there are none.

    `grid` has the last step of each window: the first window is `(0, grid[0]]`.
    """
    window = np.searchsorted(grid, steps)
    inside = window < len(grid)
    counts = np.bincount(window[inside], minlength=len(grid))
    sums = np.bincount(window[inside], np.asarray(values, float)[inside], minlength=len(grid))
    return np.divide(sums, counts, out=np.full(len(grid), np.nan), where=counts > 0)


def step_grid(steps: int, windows: int) -> NDArray[np.int64]:
    """The last steps of so many windows of equal width, or of one for each step if there are fewer."""
    return np.unique(np.linspace(0, steps, min(windows, steps) + 1).astype(np.int64)[1:])


def hold_last(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values of which each that is NaN is replaced by the one before; NaN remains before the first."""
    latest = np.maximum.accumulate(np.where(np.isnan(values), -1, np.arange(len(values))))
    return np.where(latest < 0, np.nan, values[latest])
