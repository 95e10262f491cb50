"""Statistics of the scores of groups of runs: each group's, and of two groups against each other."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.statistics import (
    MIN_SEEDS_TO_DECIDE,
    Estimate,
    Strata,
    bootstrap_estimate,
    interquartile_mean_difference,
    interquartile_mean_over,
    mean_over,
    probability_of_improvement,
)

Scores = Mapping[str, Mapping[str, NDArray[Any]]]
"""The scores of runs: by task, by group, an array over seeds."""

Scale = Callable[[Sequence[NDArray[Any]]], tuple[float, float]]
"""From the scores of all groups on a task to the scores that become 0 and 1."""

ALL_TASKS = "all tasks"
"""Stands for all tasks that every group has, with normalised scores."""


class Verdict(StrEnum):
    """Whether runs of a group are better than those of another."""

    BETTER = "better"
    WORSE = "worse"
    UNDECIDED = "undecided"


class GroupScore(NamedTuple):
    """The scores of a group on a task."""

    task: str
    group: str
    seeds: int
    """Runs; over all tasks, those on the task that has the fewest."""
    mean: Estimate
    iqm: Estimate


class Contrast(NamedTuple):
    """One group against another."""

    difference: Estimate
    """Of their interquartile means."""
    probability: Estimate
    """That a run of the one is better than a run of the other; a tie is half."""
    verdict: Verdict


class Pair(NamedTuple):
    """A group against the baseline on a task."""

    task: str
    group: str
    baseline: str
    difference: Estimate
    probability: Estimate
    verdict: Verdict


def group_scores(scores: Scores, *, lower_is_better: bool = False) -> list[GroupScore]:
    """Each group on each task, then on all tasks."""
    return [
        GroupScore(
            task,
            group,
            min(map(len, strata)),
            bootstrap_estimate(mean_over, strata),
            bootstrap_estimate(interquartile_mean_over, strata),
        )
        for task, by_group in _strata(scores, lower_is_better=lower_is_better).items()
        for group, strata in by_group.items()
    ]


def pairs(scores: Scores, baseline: str, *, lower_is_better: bool = False) -> list[Pair]:
    """Every other group against the baseline on each task that both have, then on all tasks."""
    return [
        Pair(
            task,
            group,
            baseline,
            # Normalised scores are better if they are higher, whatever the metric.
            *contrast(strata, by_group[baseline], lower_is_better=lower_is_better and task != ALL_TASKS),
        )
        for task, by_group in _strata(scores, lower_is_better=lower_is_better).items()
        for group, strata in by_group.items()
        if group != baseline and baseline in by_group
    ]


def contrast(one: Strata, other: Strata, *, lower_is_better: bool = False) -> Contrast:
    """One group against another, given their scores on the same tasks."""
    difference = bootstrap_estimate(interquartile_mean_difference, one, other)
    ordered = (other, one) if lower_is_better else (one, other)
    probability = bootstrap_estimate(probability_of_improvement, *ordered)
    enough = min(len(scores) for scores in [*one, *other]) >= MIN_SEEDS_TO_DECIDE
    sides = {_side(difference, 0.0) * (-1 if lower_is_better else 1), _side(probability, 0.5)}
    return Contrast(difference, probability, _VERDICTS[sides.pop() if enough and len(sides) == 1 else 0])


_VERDICTS = {1: Verdict.BETTER, -1: Verdict.WORSE, 0: Verdict.UNDECIDED}
"""By the side of both intervals. Of the two, each alone prefers one of two equal agents more often."""


def _side(estimate: Estimate, bound: float) -> int:
    """1 if all of the interval is above the bound, -1 if it is below, 0 if neither or there is none."""
    low, high = estimate.interval or (bound, bound)
    return int(low > bound) - int(high < bound)


def _strata(scores: Scores, *, lower_is_better: bool) -> dict[str, dict[str, Strata]]:
    """By task and group the scores on this one task; last, normalised, those on all tasks."""
    found: dict[str, dict[str, Strata]] = {
        task: {group: [each] for group, each in by_group.items()} for task, by_group in scores.items()
    }
    common = common_tasks(scores)
    if len(common) > 1:
        even = normalised({task: scores[task] for task in common}, max_min if lower_is_better else min_max)
        found[ALL_TASKS] = {group: [even[task][group] for task in common] for group in even[common[0]]}
    return found


def common_tasks(scores: Scores) -> list[str]:
    """The tasks on which every group has runs."""
    groups = {group for by_group in scores.values() for group in by_group}
    return [task for task, by_group in scores.items() if set(by_group) == groups]


def normalised(scores: Scores, scale: Scale) -> Scores:
    """Scores of different tasks on one scale, which is fixed before any resampling."""
    found: dict[str, dict[str, NDArray[Any]]] = {}
    for task, by_group in scores.items():
        zero, one = scale(list(by_group.values()))
        found[task] = {group: (each - zero) / ((one - zero) or 1.0) for group, each in by_group.items()}
    return found


def min_max(scores: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """The lowest score of any run on a task becomes 0, the highest becomes 1."""
    together = np.concatenate(scores)
    return float(together.min()), float(together.max())


def max_min(scores: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """The highest score of any run on a task becomes 0, the lowest becomes 1."""
    lowest, highest = min_max(scores)
    return highest, lowest


def fraction_of_best(scores: Sequence[NDArray[Any]]) -> tuple[float, float]:
    """The best mean score becomes 1, of groups whose runs all have a score; zero stays zero."""
    means = [float(np.mean(each)) for each in scores if not np.isnan(each).any()]
    return 0.0, max(means, default=0.0)
