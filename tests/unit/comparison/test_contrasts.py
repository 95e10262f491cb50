"""Groups of scores against each other, compared with cases by hand."""

import numpy as np
import pytest

from surefoot import statistics
from surefoot.comparison.contrasts import (
    ALL_TASKS,
    Verdict,
    common_tasks,
    contrast,
    fraction_of_best,
    group_scores,
    normalised,
    pairs,
)

LOW, HIGH = np.arange(5.0), np.arange(5.0) + 10


def test_disjoint_scores_are_better_or_worse():
    found = contrast([HIGH], [LOW])
    assert (found.difference.measured, found.probability) == (10.0, (1.0, (1.0, 1.0)))
    assert found.verdict == Verdict.BETTER
    assert contrast([LOW], [HIGH]).verdict == Verdict.WORSE


def test_where_low_is_good_the_verdict_is_the_opposite_and_the_difference_is_not():
    found = contrast([LOW], [HIGH], lower_is_better=True)
    assert found.difference.measured == -10
    assert found.probability.measured == 1
    assert found.verdict == Verdict.BETTER


@pytest.mark.parametrize(
    ("one", "other"),
    [(LOW, LOW), (np.ones(9), np.ones(9)), (HIGH[:4], LOW), (HIGH, LOW[:4]), (HIGH[:2], LOW)],
)
def test_equal_scores_and_few_ones_are_undecided(one, other):
    assert contrast([one], [other]).verdict == Verdict.UNDECIDED


def test_two_equal_agents_are_told_apart_in_about_one_case_of_twenty(monkeypatch):
    """Of 1,000 pairs with 5 seeds 5.9 % were; by the probability of improvement alone, 11 %."""
    monkeypatch.setattr(statistics, "RESAMPLES", 200)
    rng, trials = np.random.default_rng(0), 300
    verdicts = [contrast([rng.normal(size=5)], [rng.normal(size=5)]).verdict for _ in range(trials)]
    error = np.sqrt(0.06 * 0.94 / trials)
    told_apart = np.mean([each != Verdict.UNDECIDED for each in verdicts])
    assert abs(told_apart - 0.06) < 3 * error
    assert Verdict.BETTER in verdicts
    assert Verdict.WORSE in verdicts


@pytest.mark.parametrize(("seeds", "expected"), [(3, 0.74), (5, 0.89), (10, 0.93)])
def test_intervals_of_few_seeds_cover_the_truth_as_seldom_as_is_documented(monkeypatch, seeds, expected):
    monkeypatch.setattr(statistics, "RESAMPLES", 200)
    rng, trials = np.random.default_rng(0), 400
    intervals = [
        statistics.bootstrap_estimate(statistics.interquartile_mean_over, [rng.normal(size=seeds)]).interval
        for _ in range(trials)
    ]
    covered = np.mean([low <= 0 <= high for low, high in intervals])
    assert abs(covered - expected) < 3 * np.sqrt(expected * (1 - expected) / trials)


SCORES = {
    "a": {"x": np.array([0.0, 1.0, 2.0]), "y": np.array([3.0, 4.0, 4.0])},
    "b": {"x": np.array([-100.0, -90.0, -80.0]), "y": np.array([-60.0, -70.0, -80.0])},
}


def found_by_place(rows):
    return {(each.task, each.group): each for each in rows}


def test_scores_of_all_tasks_are_between_the_worst_and_the_best_run_of_each():
    found = found_by_place(group_scores(SCORES))
    x, y = [0, 0.25, 0.5, 0, 0.25, 0.5], [0.75, 1, 1, 1, 0.75, 0.5]
    assert found[ALL_TASKS, "x"].mean.measured == pytest.approx(np.mean(x))
    assert found[ALL_TASKS, "y"].mean.measured == pytest.approx(np.mean(y))
    assert found[ALL_TASKS, "x"].iqm.measured == pytest.approx(0.25)  # Of the middle four: 0, 1/4, 1/4, 1/2.
    assert found["b", "y"].mean.measured == -70  # Of one task they are as they were measured.
    assert (found["b", "y"].seeds, found[ALL_TASKS, "y"].seeds) == (3, 3)


def test_where_low_is_good_normalised_scores_are_turned_over():
    turned = found_by_place(group_scores(SCORES, lower_is_better=True))
    assert turned[ALL_TASKS, "x"].mean.measured == pytest.approx(0.75)
    against = found_by_place(pairs(SCORES, "y", lower_is_better=True))
    assert against[ALL_TASKS, "x"].probability.measured == pytest.approx((1 + 17 / 18) / 2)
    assert against[ALL_TASKS, "x"].difference.measured > 0
    assert against["a", "x"].probability.measured == 1


def test_tasks_that_some_group_lacks_do_not_count_for_all_tasks():
    more = {**SCORES, "c": {"x": np.arange(3.0)}}
    assert common_tasks(more) == ["a", "b"]
    assert [each for each in group_scores(more) if each.task == ALL_TASKS] == [
        each for each in group_scores(SCORES) if each.task == ALL_TASKS
    ]
    assert {(each.task, each.group) for each in pairs(more, "y")} == {
        ("a", "x"),
        ("b", "x"),
        (ALL_TASKS, "x"),
    }
    one_task = {"a": SCORES["a"]}
    assert {each.task for each in group_scores(one_task)} == {"a"}


def test_scores_that_are_all_equal_can_be_normalised():
    found = normalised({"a": {"x": np.ones(3)}}, lambda _: (1.0, 1.0))
    assert found["a"]["x"].tolist() == [0, 0, 0]


def test_the_best_mean_is_one_unless_a_score_of_its_group_is_missing():
    assert fraction_of_best([np.array([1.0, 3.0]), np.array([5.0, 5.0])]) == (0, 5)
    assert fraction_of_best([np.array([1.0, 3.0]), np.array([5.0, np.nan])]) == (0, 2)
