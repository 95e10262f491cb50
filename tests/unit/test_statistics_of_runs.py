"""Statistics of the scores of many runs, compared with hand-computed cases."""

import numpy as np
import pytest
from scipy import stats

from surefoot import statistics
from surefoot.statistics import (
    bootstrap_estimate,
    hold_last,
    interquartile_mean,
    interquartile_mean_difference,
    interquartile_mean_over,
    mean_over,
    probability_of_improvement,
    step_grid,
    window_means,
)


def test_the_interquartile_mean_is_that_of_the_middle_half():
    assert interquartile_mean([1, 2, 3, 4, 5, 6, 7, 1_000]) == pytest.approx((3 + 4 + 5 + 6) / 4)
    assert interquartile_mean([[5.0, 7.0, 0.0, 6.0], [1.0, 2.0, 3.0, 9.0]]) == pytest.approx([5.5, 2.5])
    assert interquartile_mean([3.0]) == 3
    for count in range(1, 30):
        values = np.random.default_rng(count).normal(size=count)
        assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25))


def test_tasks_may_have_different_numbers_of_runs():
    strata = [np.array([0.0, 1.0, 2.0]), np.array([3.0]), np.array([4.0, 5.0, 6.0, 100.0])]
    assert interquartile_mean_over(strata) == pytest.approx((2 + 3 + 4 + 5) / 4)


def test_probability_of_improvement_counts_pairs_task_by_task():
    # Task 1: of the pairs (1,0) (1,2) (3,0) (3,2) three are won. Task 2: one tie, one loss.
    one = [np.array([1.0, 3.0]), np.array([5.0])]
    other = [np.array([0.0, 2.0]), np.array([5.0, 6.0])]
    assert probability_of_improvement(one, other) == pytest.approx((3 / 4 + 1 / 4) / 2)
    assert probability_of_improvement(other, one) == pytest.approx(1 - (3 / 4 + 1 / 4) / 2)
    assert probability_of_improvement(one, one) == pytest.approx(0.5)


def test_a_bootstrap_resamples_within_each_task_only():
    # Tasks differ by a hundred, their runs hardly: resampled across tasks, the mean would vary by tens.
    strata = [np.array([0.0, 0.1, 0.2]), np.array([100.0, 100.1, 100.2])]
    found = bootstrap_estimate(mean_over, strata)
    assert found.measured == pytest.approx(50.1)
    assert found.interval[0] >= 50.0
    assert found.interval[1] <= 50.2


def test_a_bootstrap_interval_covers_the_mean_in_about_95_percent_of_cases(monkeypatch):
    monkeypatch.setattr(statistics, "RESAMPLES", 500)
    rng, covered, trials = np.random.default_rng(0), 0, 300
    for trial in range(trials):
        values = [rng.normal(size=30), rng.normal(size=30)]
        _, (low, high) = bootstrap_estimate(mean_over, values, seed=trial)
        covered += low <= 0 <= high
    error = np.sqrt(0.95 * 0.05 / trials)
    assert abs(covered / trials - 0.95) < 4 * error + 0.01  # Percentiles of 60 values are a little narrow.


def test_a_bootstrap_is_repeatable_by_its_seed_and_needs_three_runs_of_each_task():
    strata = [np.arange(5.0), np.arange(3.0)]
    assert bootstrap_estimate(interquartile_mean_over, strata, seed=3) == bootstrap_estimate(
        interquartile_mean_over, strata, seed=3
    )
    for few in (1, 2):
        assert bootstrap_estimate(interquartile_mean_over, [np.arange(5.0), np.arange(few)]).interval is None


def test_all_resamples_at_once_give_what_they_give_one_by_one():
    """The resamples of a seed are drawn from its generator task by task, group by group."""
    one, other = [np.array([1.0, 4.0, 2.0]), np.array([5.0, 3.0, 9.0, 7.0])], [np.arange(3.0), np.arange(4.0)]
    rng = np.random.default_rng(7)
    drawn = [[each[rng.integers(len(each), size=(2_000, len(each)))] for each in g] for g in (one, other)]
    for statistic in (interquartile_mean_difference, probability_of_improvement):
        results = [statistic(*([task[i] for task in group] for group in drawn)) for i in range(2_000)]
        expected = np.quantile(results, [0.025, 0.975])
        assert bootstrap_estimate(statistic, one, other, seed=7).interval == pytest.approx(tuple(expected))


def test_the_mean_over_tasks_gives_each_task_the_same_weight():
    assert mean_over([np.array([1.0, 3.0]), np.array([10.0, 10.0, 10.0, 10.0])]) == 6.0


def test_disjoint_runs_are_always_better_and_equal_ones_half_of_the_time():
    low, high = [np.arange(3.0)], [np.arange(3.0) + 3]
    assert bootstrap_estimate(probability_of_improvement, high, low) == (1.0, (1.0, 1.0))
    assert bootstrap_estimate(probability_of_improvement, low, high) == (0.0, (0.0, 0.0))
    same = bootstrap_estimate(probability_of_improvement, low, low)
    assert same.measured == 0.5
    assert same.interval[0] < 0.5 < same.interval[1]
    ties = bootstrap_estimate(probability_of_improvement, [np.ones(4)], [np.ones(5)])
    assert ties == (0.5, (0.5, 0.5))


def test_values_are_held_until_the_next_and_unknown_before_the_first():
    nan = np.nan
    found = hold_last(np.array([nan, nan, 3.0, nan, 5.0, nan]))
    np.testing.assert_array_equal(found, [nan, nan, 3, 3, 5, 5])
    np.testing.assert_array_equal(hold_last(np.full(3, nan)), np.full(3, nan))


def test_windows_have_equal_widths_or_are_single_steps():
    assert step_grid(100, 4).tolist() == [25, 50, 75, 100]
    assert step_grid(3, 50).tolist() == [1, 2, 3]


def test_a_statistic_of_a_missing_score_is_missing():
    strata = [np.arange(8.0), np.array([1.0, 2.0, np.nan, 4.0])]
    value, interval = bootstrap_estimate(interquartile_mean_over, strata)
    assert np.isnan(value)
    assert interval is None


def test_windows_include_their_last_step_and_are_nan_without_values():
    steps, values = np.array([1, 10, 11, 30, 31]), np.array([1.0, 3.0, 5.0, 7.0, 99.0])
    found = window_means(steps, values, np.array([10, 20, 30]))
    np.testing.assert_allclose(found, [2, 5, 7])
    np.testing.assert_array_equal(window_means(np.array([25]), np.array([1.0]), np.array([10, 20])), np.nan)
    assert statistics.RESAMPLES >= 1_000
