"""Ranking and novelty: sparsification, Spearman, AUROC and visits on cases by hand."""

import numpy as np
import pytest

from surefoot.audit import epistemic, evidence, novelty, risk_coverage, visits
from surefoot.audit.evidence import mean_over_episodes, over_episodes

RNG = np.random.default_rng(0)
ERROR = RNG.uniform(size=(40, 5))


def test_sparsification_gains_all_where_uncertainty_is_the_error_and_nothing_where_it_is_constant():
    assert epistemic.sparsification_gain(ERROR, ERROR).measured == pytest.approx(1)
    assert epistemic.sparsification_gain(ERROR**3, ERROR).measured == pytest.approx(1)
    assert epistemic.sparsification_gain(np.ones_like(ERROR), ERROR).measured == pytest.approx(0)
    assert epistemic.sparsification_gain(-ERROR, ERROR).measured < -0.9


def test_sparsification_by_noise_has_an_interval_around_chance():
    low, high = epistemic.sparsification_gain(RNG.uniform(size=ERROR.shape), ERROR).interval
    assert low < 0 < high
    assert high - low < 0.6


def test_the_error_that_remains_by_hand():
    found = epistemic.remaining_error(np.array([3.0, 1.0, 2.0]), np.array([9.0, 2.0, 4.0]))
    np.testing.assert_allclose(found, [5, 3, 2])
    tied = epistemic.remaining_error(np.array([1.0, 1.0, 2.0]), np.array([8.0, 2.0, 5.0]))
    np.testing.assert_allclose(tied, [5, 5, 5])


def test_chance_in_returns_is_no_error_of_the_mean():
    """The noise of the mean of 16 returns of sd 3 would be 0.56 of squared error where the agent is right."""
    mean = np.full((200, 5), 1.0)
    returns = mean[..., None] + 3 * RNG.standard_normal((200, 5, 16))
    right = evidence._squared_distance(mean, returns)
    assert right.mean() == pytest.approx(0, abs=4.5 * right.std() / np.sqrt(1_000))
    off = evidence._squared_distance(mean + 2, returns)
    assert off.mean() == pytest.approx(4, abs=4.5 * off.std() / np.sqrt(1_000))
    np.testing.assert_allclose(evidence._squared_distance(mean + 2, mean[..., None]), 4)


def test_sure_states_of_much_chance_are_no_evidence_against_a_right_agent():
    """With squares of noisy distances, such an agent would seem to be sure where it is wrong."""
    chance = RNG.uniform(0.1, 3, size=(100, 4))
    returns = chance[..., None] * RNG.standard_normal((100, 4, 16))
    errors = evidence._squared_distance(np.zeros((100, 4)), returns)
    low, high = epistemic.sparsification_gain(1 / chance, errors).interval
    assert low < 0 < high
    naive = np.abs(returns.mean(axis=-1))
    assert epistemic.sparsification_gain(1 / chance, naive).interval[1] < 0


def test_spearman_counts_order_alone():
    assert epistemic.spearman(np.exp(ERROR), ERROR).measured == pytest.approx(1)
    assert epistemic.spearman(-ERROR, ERROR).measured == pytest.approx(-1)
    assert np.isnan(epistemic.spearman(np.ones_like(ERROR), ERROR).measured)


def test_auroc_and_false_positives_by_hand():
    known = np.array([[1.0, 2.0], [3.0, 4.0]])
    new = [np.array([2.0, 5.0]), np.array([6.0])]
    everything = np.array([0, 1])
    # Of the 12 pairs the new one is higher in 9 and equal in 1.
    assert novelty._auroc(known, new, everything) == pytest.approx((4 + 4 + 1.5) / 12)
    assert novelty._auroc(known, [known[0] + 9, known[1] + 9], everything) == 1
    assert novelty._false_positives(known, new, everything) == pytest.approx(0.5)
    assert np.isnan(novelty._auroc(known, [np.zeros(0), np.zeros(0)], everything))


def test_acting_where_it_is_sure_by_hand():
    order = np.arange(200.0).reshape(40, 5)
    assert risk_coverage.selective(order, order, 0.5).measured == pytest.approx(49.5)
    assert risk_coverage.selective(-order, order, 0.5).measured == pytest.approx(149.5)
    assert risk_coverage.selective(order, order, 1.0).measured == pytest.approx(99.5)


def test_intervals_resample_whole_episodes():
    """Equal states within an episode say no more than one: the interval is as wide as for episodes alone."""
    one = RNG.standard_normal((50, 1))
    alone, repeated = mean_over_episodes(one), mean_over_episodes(np.repeat(one, 30, axis=1))
    assert repeated.measured == pytest.approx(alone.measured)
    assert repeated.interval == pytest.approx(alone.interval)
    low, high = alone.interval
    assert high - low == pytest.approx(2 * 1.96 / np.sqrt(50), rel=0.35)
    assert over_episodes(lambda chosen: float(len(chosen)), 7).measured == 7


def test_shuffling_keeps_the_entries_and_noise_keeps_the_dtype():
    grid = RNG.uniform(size=(30, 6, 6, 2)) < 0.2
    mixed = novelty.shuffled(grid, np.random.default_rng(0))
    np.testing.assert_array_equal(mixed.reshape(30, -1).sum(axis=1), grid.reshape(30, -1).sum(axis=1))
    assert np.any(mixed != grid)
    noisy = novelty.noised(grid, np.random.default_rng(0))
    assert noisy.dtype == bool
    assert np.mean(noisy != grid) == pytest.approx(novelty.FLIPPED / 2, abs=0.02)
    vector = RNG.standard_normal((500, 3)).astype(np.float32) * [1, 10, 0]
    changed = novelty.noised(vector.astype(np.float32), np.random.default_rng(0)) - vector
    np.testing.assert_allclose(changed.std(axis=0), [1, 10, 0], rtol=0.15)


def test_visits_are_counted_by_equal_observations():
    seen = np.array([[0, 1], [0, 1], [2, 2]], np.float32)
    np.testing.assert_array_equal(
        visits.unseen(np.array([[0, 1], [1, 0], [2, 2]]), seen), [False, True, False]
    )
