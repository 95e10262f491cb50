"""Scores of predictive distributions against closed forms and SciPy."""

import numpy as np
import pytest
from scipy import stats

from surefoot.experiments.predictive_scores import crps, normal_nll, pair_nll

RNG = np.random.default_rng(0)


def test_the_likelihood_is_that_of_a_normal_distribution():
    y, mean, sd = RNG.normal(size=(3, 50))
    found = normal_nll(y, mean, sd**2)
    assert found == pytest.approx(-stats.norm.logpdf(y, mean, np.abs(sd)).mean())


def test_the_likelihood_of_pairs_is_that_of_a_bivariate_normal():
    means, noise = RNG.normal(size=(5, 2, 20)), RNG.uniform(0.1, 2, (2, 20))
    pair = RNG.normal(size=(2, 20))
    expected = -np.mean(
        [
            stats.multivariate_normal.logpdf(
                pair[:, i], means[:, :, i].mean(axis=0), np.cov(means[:, :, i].T) + np.diag(noise[:, i])
            )
            for i in range(20)
        ]
    )
    assert pair_nll(pair, means, noise) == pytest.approx(expected)


def test_draws_that_agree_make_a_pair_two_observations():
    pair, mean, noise = RNG.normal(size=(2, 9)), RNG.normal(size=(2, 9)), RNG.uniform(0.5, 1, (2, 9))
    apart = 2 * normal_nll(pair, mean, noise)
    assert pair_nll(pair, np.stack([mean, mean]), noise) == pytest.approx(apart)


def test_draws_that_are_functions_predict_pairs_better_than_draws_that_are_noise():
    """Both have the same marginal scores: only in the first is a draw wrong at both points alike."""
    error = RNG.normal(size=(8, 1, 400))
    together, apart = np.repeat(error, 2, axis=1), np.concatenate([error, error[::-1]], axis=1)
    pair = RNG.normal(size=400) + 0.1 * RNG.normal(size=(2, 400))
    noise = np.full((2, 400), 0.01)
    assert pair_nll(pair, together, noise) < pair_nll(pair, apart, noise) - 0.5


def test_crps_of_one_sample_is_its_distance_and_of_many_normal_ones_the_closed_form():
    """For N(0, 1): y (2 Phi(y) - 1) + 2 phi(y) - 1 / sqrt(pi)."""
    y = np.array([0.0, 0.7, -2.0])
    assert crps(y, np.zeros((1, 3))) == pytest.approx(np.abs(y).mean())
    samples = np.repeat(stats.norm.ppf((np.arange(4_000) + 0.5) / 4_000)[:, None], 3, axis=1)
    exact = y * (2 * stats.norm.cdf(y) - 1) + 2 * stats.norm.pdf(y) - 1 / np.sqrt(np.pi)
    assert crps(y, samples) == pytest.approx(exact.mean(), abs=1e-3)
