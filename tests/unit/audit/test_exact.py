"""The exact part on the windy cliff: distributions, coverage of exact beliefs, and estimators."""

import numpy as np
import pytest
from scipy.special import ndtri

import surefoot
from surefoot.audit import exact
from surefoot.envs import windy_cliff, windy_cliff_exact
from surefoot.experiments.cliff_claims import RISKY_POLICY, SAFE_POLICY
from tests.small_models import CLIFF, QUICK

CONFIG = windy_cliff.Config()
LEVELS = (np.arange(50) + 0.5) / 50


def test_the_distribution_of_returns_has_the_exact_moments():
    for policy in (RISKY_POLICY, SAFE_POLICY):
        found = windy_cliff_exact.return_distribution(policy, (0, 1, 0))
        values, chances = np.array(list(found)), np.array(list(found.values()))
        returns = windy_cliff_exact.exact_returns(policy)
        assert chances.sum() == pytest.approx(1)
        assert chances @ values == pytest.approx(returns.mean[0, 1, 0])
        assert np.sqrt(chances @ (values - chances @ values) ** 2) == pytest.approx(
            returns.sd[0, 1, 0], abs=1e-6
        )


def test_visits_of_the_ledge_fall_with_each_gust():
    visits = windy_cliff_exact.visit_probabilities(RISKY_POLICY)
    np.testing.assert_allclose(visits[[0, 1, 2, 3], 1, [0, 1, 2, 3]], 0.95 ** np.arange(4))
    assert visits.sum() == pytest.approx(sum(0.95 ** np.arange(4)))


def exact_quantiles(truth, levels=LEVELS):
    quantiles = np.zeros((*truth.mean.shape, len(levels)))
    for state, distribution in truth.distributions.items():
        values = np.sort(list(distribution))
        cumulative = np.cumsum([distribution[value] for value in values])
        quantiles[state] = values[np.minimum(np.searchsorted(cumulative, levels), len(values) - 1)]
    return quantiles


def test_exact_quantiles_cover_what_they_say_and_shrunken_ones_less():
    truth = exact.truth_of(RISKY_POLICY, CONFIG)
    quantiles = exact_quantiles(truth)
    assert exact.exact_coverage(quantiles, LEVELS, truth) == pytest.approx(0.8, abs=0.04)
    centre = quantiles.mean(axis=-1, keepdims=True)
    assert exact.exact_coverage(centre + (quantiles - centre) / 2, LEVELS, truth) < 0.5
    wide = centre + 40 * ndtri(LEVELS)
    assert exact.exact_coverage(wide, LEVELS, truth) > 0.95


@pytest.mark.parametrize("targets", ["shared", "own"])
def test_estimators_are_those_that_the_agent_would_use(targets):
    model = surefoot.UADQN(CLIFF, targets=targets, auxiliary_networks=2, normalise=True, **QUICK)
    obs = windy_cliff.observations()[0].reshape(-1, 11)
    found = exact.estimators(model.spec, model.parameters, obs)
    assert set(found) == {exact.UNBIASED, exact.BIASED} | ({exact.INDEPENDENT} if targets == "own" else set())
    beliefs = model.beliefs(obs)
    np.testing.assert_allclose(found[exact.UNBIASED], beliefs.aleatoric, rtol=1e-4, atol=1e-5)
    spread = np.std(beliefs.quantiles, axis=-1, ddof=1)
    np.testing.assert_allclose(found[exact.BIASED], spread, rtol=1e-4, atol=1e-5)
    if targets == "own":
        assert np.any(np.abs(found[exact.INDEPENDENT] - found[exact.UNBIASED]) > 1e-3)


def test_the_probe_measures_errors_against_the_exact_truth():
    model = surefoot.QRDQN(CLIFF, discount=1.0, **QUICK)
    found = exact.look(model)
    assert set(found) == {"audit/mean_error", "audit/error_biased", "audit/ledge_biased", "audit/coverage"}
    assert all(np.isfinite(list(found.values())))
    mean = np.asarray(model.beliefs(windy_cliff.observations().reshape(-1, 11)).mean).reshape(15, 2, 5, 4)
    policy = mean.argmax(axis=-1)
    truth = exact.truth_of(policy, CONFIG)
    here = truth.visits > 0
    errors = np.take_along_axis(mean, policy[..., None], -1)[..., 0][here] - truth.mean[here]
    weights = truth.visits[here] / truth.visits.sum()
    assert found["audit/mean_error"] == pytest.approx(np.sqrt(weights @ errors**2), rel=1e-4)
