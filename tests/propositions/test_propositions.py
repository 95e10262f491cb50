"""The paper's propositions, checked exactly by enumeration of all pairs of networks of a finite posterior."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surefoot.estimators import (
    aleatoric_variance,
    decompose,
    epistemic_variance,
    posterior_aleatoric_variance,
    posterior_epistemic_variance,
    posterior_total_variance,
    quantile_variance,
)
from surefoot.experiments.normal_posterior import NormalPosterior, correlated, posterior_after

TOLERANCE = {"rtol": 1e-9, "atol": 1e-9}


def posteriors(max_networks=5):
    """Finite posteriors: equally likely networks, `[M, N]`, with any correlations."""
    shapes = st.tuples(st.integers(2, max_networks), st.integers(2, 6))
    return shapes.flatmap(lambda shape: hnp.arrays(float, shape, elements=st.floats(-10, 10)))


@given(posteriors())
def test_variance_of_one_set_of_quantiles_has_the_bias_of_the_proof(posterior):
    """Proposition 2.1: the bias is the mean posterior variance of y_i - mean_i(y_i)."""
    expectation = quantile_variance(posterior).mean()
    centred = posterior - posterior.mean(axis=-1, keepdims=True)
    bias = centred.var(axis=0).mean()
    np.testing.assert_allclose(expectation, posterior_aleatoric_variance(posterior) + bias, **TOLERANCE)


def test_variance_of_one_set_of_quantiles_overestimates_when_the_posterior_is_wide():
    posterior = np.random.default_rng(0).normal([0.0, 1.0, 2.0], 3.0, size=(1000, 3))
    assert quantile_variance(posterior).mean() > 5 * posterior_aleatoric_variance(posterior)


@given(posteriors())
def test_total_variance_is_epistemic_plus_aleatoric(posterior):
    """Proposition 2.2."""
    parts = posterior_epistemic_variance(posterior) + posterior_aleatoric_variance(posterior)
    np.testing.assert_allclose(posterior_total_variance(posterior), parts, **TOLERANCE)


@given(posteriors())
def test_epistemic_estimator_is_unbiased(posterior):
    """Proposition 2.3, for any correlation of outputs."""
    estimates = [epistemic_variance(y_a, y_b) for y_a, y_b in product(posterior, posterior)]
    np.testing.assert_allclose(np.mean(estimates), posterior_epistemic_variance(posterior), **TOLERANCE)


@given(posteriors())
def test_aleatoric_estimator_is_unbiased(posterior):
    """Proposition 2.3, for any correlation of outputs."""
    estimates = [aleatoric_variance(y_a, y_b) for y_a, y_b in product(posterior, posterior)]
    np.testing.assert_allclose(np.mean(estimates), posterior_aleatoric_variance(posterior), **TOLERANCE)


@given(posteriors(max_networks=3), st.integers(2, 4))
def test_decomposition_is_unbiased_for_any_number_of_draws(posterior, count):
    estimates = [decompose(np.stack(each)) for each in product(posterior, repeat=count)]
    epistemic, aleatoric, total = np.mean(estimates, axis=0)
    np.testing.assert_allclose(epistemic, posterior_epistemic_variance(posterior), **TOLERANCE)
    np.testing.assert_allclose(aleatoric, posterior_aleatoric_variance(posterior), **TOLERANCE)
    np.testing.assert_allclose(total, posterior_total_variance(posterior), **TOLERANCE)


@pytest.fixture(scope="module")
def posterior():
    """A normal posterior with a random mean and random correlations."""
    rng = np.random.default_rng(1)
    factor = rng.normal(size=(7, 7)) / 2
    return NormalPosterior(rng.normal(size=7), factor @ factor.T)


def within_four_errors(values, truth):
    return abs(np.mean(values) - truth) < 4 * np.std(values) / np.sqrt(len(values))


@pytest.mark.parametrize("count", [2, 3, 5])
def test_closed_forms_agree_with_simulation_for_correlated_outputs(posterior, count):
    draws = posterior.sample(np.random.default_rng(2), count, 100_000)
    epistemic, aleatoric, _ = decompose(draws)
    assert within_four_errors(epistemic, posterior.epistemic_variance)
    assert within_four_errors(aleatoric, posterior.aleatoric_variance)
    excess = quantile_variance(draws[0]) - posterior.aleatoric_variance
    assert within_four_errors(excess, posterior.quantile_variance_bias)
    for values, truth in (
        (epistemic, posterior.epistemic_estimator_variance(count)),
        (aleatoric, posterior.aleatoric_estimator_variance(count)),
    ):
        assert within_four_errors((values - values.mean()) ** 2, truth)


@pytest.mark.parametrize("quantiles", [2, 16, 50, 512])
def test_closed_forms_for_uncorrelated_outputs_of_equal_variance(quantiles):
    """2 v^2 / N, and 2 s v / N + (N - 1) v^2 / N^2 with s the aleatoric variance."""
    posterior = posterior_after(2, quantiles)
    v, s = posterior.epistemic_variance, posterior.aleatoric_variance
    assert posterior.epistemic_estimator_variance() == pytest.approx(2 * v**2 / quantiles)
    assert posterior.aleatoric_estimator_variance() == pytest.approx(
        2 * s * v / quantiles + (quantiles - 1) * v**2 / quantiles**2
    )


def test_under_a_common_shift_only_the_epistemic_estimator_varies():
    posterior = correlated(1.0)
    assert posterior.epistemic_estimator_variance() == pytest.approx(2)
    assert posterior.aleatoric_estimator_variance() == pytest.approx(0, abs=1e-12)


def test_without_data_all_uncertainty_is_epistemic_and_with_unlimited_data_aleatoric():
    without_data, with_data = posterior_after(0, 50), posterior_after(1e12, 50)
    assert without_data.aleatoric_variance == 0
    assert without_data.epistemic_variance == pytest.approx(1)
    assert with_data.epistemic_variance == pytest.approx(0, abs=1e-9)
    assert with_data.aleatoric_variance == pytest.approx(1)
