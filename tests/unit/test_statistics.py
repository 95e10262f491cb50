"""Estimates over repetitions, compared with hand-computed cases."""

import numpy as np
import pytest

from surefoot.statistics import fraction_estimate, jackknife_estimate, mean_estimate, ratio_estimate


def test_the_interval_of_a_mean_is_students():
    """1, 2, 3, 4: mean 2.5, standard error sqrt(5/12), t(0.975, 3) = 3.18245."""
    measured, interval = mean_estimate(np.array([1, 2, 3, 4]))
    assert measured == 2.5
    reach = 3.18245 * np.sqrt(5 / 12)
    assert interval == pytest.approx((2.5 - reach, 2.5 + reach), rel=1e-4)


def test_the_jackknife_interval_of_a_mean_is_students():
    values = np.random.default_rng(0).normal(size=12)
    assert jackknife_estimate(np.mean, values).interval == pytest.approx(mean_estimate(values).interval)


def test_the_jackknife_interval_of_a_variance_covers_it_in_about_95_percent_of_cases():
    rng = np.random.default_rng(0)
    intervals = [
        jackknife_estimate(lambda v: v.var(ddof=1), rng.normal(size=40)).interval for _ in range(400)
    ]
    covered = np.mean([low <= 1 <= high for low, high in intervals])
    assert 0.88 < covered < 0.98


def test_too_few_repetitions_have_no_interval():
    assert mean_estimate(np.array([1.0])).interval is None
    assert jackknife_estimate(np.mean, np.array([1.0, 2.0])).interval is None


def test_a_ratio_and_its_inverse_balance_each_other():
    values = np.array([0.5, 2.0, 0.25, 4.0])
    measured, interval = ratio_estimate(values)
    assert measured == pytest.approx(1)
    assert interval[0] == pytest.approx(1 / interval[1])
    assert ratio_estimate(values[:1]) == (0.5, None)


def test_wilsons_interval_of_a_fraction_is_that_computed_by_hand():
    """7 of 10: centre (p + z^2/2n) / (1 + z^2/n)."""
    measured, (low, high) = fraction_estimate(np.arange(10) < 7)
    z2 = 1.959964**2
    assert measured == 0.7
    assert (low + high) / 2 == pytest.approx((0.7 + z2 / 20) / (1 + z2 / 10), rel=1e-5)
    assert fraction_estimate(np.ones(5, bool)).interval[1] == 1
