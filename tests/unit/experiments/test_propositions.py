"""The simulation of the propositions: its verdicts, also on wrong estimators."""

import numpy as np
import pytest

from surefoot import estimators
from surefoot.claims import Verdict
from surefoot.experiments import propositions
from surefoot.experiments.estimator_simulation import Case, EstimatorMoments, Simulation, simulate_estimators
from surefoot.experiments.normal_posterior import correlated, posterior_after

QUICK = propositions.Config(seeds=2, steps=4000)


@pytest.fixture
def few_cases(monkeypatch):
    """Fewer numbers of quantiles and draws, so that a simulation takes a second."""
    monkeypatch.setattr(propositions, "QUANTILE_COUNTS", (2, 16, 32, 64))
    monkeypatch.setattr(propositions, "DRAW_COUNTS", (2, 4))


def verdicts():
    progress = []
    outcome = propositions.run(QUICK, progress.append)
    assert sum(progress) == pytest.approx(1)
    return {each.name: each.verdict for each in outcome.claims}


@pytest.mark.usefixtures("few_cases")
def test_no_claim_fails_by_simulation():
    found = verdicts()
    assert Verdict.FAILS not in found.values()
    assert list(found.values()).count(Verdict.HOLDS) > 8


@pytest.mark.usefixtures("few_cases")
def test_a_claim_fails_for_a_biased_aleatoric_estimator(monkeypatch):
    def biased(draws):
        epistemic, _, _ = correct(draws)
        aleatoric = estimators.quantile_variance(draws[0])
        return estimators.Variances(epistemic, aleatoric, epistemic + aleatoric)

    correct = estimators.decompose
    monkeypatch.setattr(estimators, "decompose", biased)
    assert verdicts()["bias of the aleatoric estimator / total variance"] == Verdict.FAILS


@pytest.mark.usefixtures("few_cases")
def test_claims_fail_for_a_square_outside_the_mean(monkeypatch):
    """The misprint of eq. 7."""

    def misprinted(draws):
        epistemic = np.mean(draws[0] - draws[1], axis=-1) ** 2 / 2
        _, aleatoric, _ = correct(draws)
        return estimators.Variances(epistemic, aleatoric, epistemic + aleatoric)

    correct = estimators.decompose
    monkeypatch.setattr(estimators, "decompose", misprinted)
    found = verdicts()
    assert found["bias of the epistemic estimator / total variance"] == Verdict.FAILS
    assert found["variance of the epistemic estimator / closed form, N = 2 ... 512"] == Verdict.FAILS


def test_samples_have_the_mean_and_covariance_of_the_posterior():
    posterior = correlated(0.5, quantiles=3)
    draws = posterior.sample(np.random.default_rng(0), 1, 200_000)[0]
    np.testing.assert_allclose(draws.mean(axis=0), posterior.mean, atol=0.01)
    np.testing.assert_allclose(np.cov(draws.T), posterior.covariance, atol=0.02)


def test_seeds_and_streams_have_different_random_numbers():
    case = Case("draws", 2, posterior_after(2, 8))

    def mean(seeds, stream):
        return simulate_estimators(case, seeds, 100, stream).epistemic.mean

    assert mean(1, 0) == mean(1, 0)
    assert len({mean(1, 0), mean(1, 1), mean(2, 0), mean(3, 0)}) == 4


def test_slope_and_its_interval_are_those_computed_by_hand():
    """Two points, each known to 1 %: the slope's error is 1 % x sqrt 2 / log 2."""
    simulations = [
        Simulation(
            Case("quantiles", n, posterior_after(2, 2)),
            *[EstimatorMoments(0.0, 0.0, 3.0 / n, 0.03 / n)] * 3,
            0.0,
        )
        for n in (16, 32)
    ]
    found = propositions.slope_over_quantiles(simulations, "epistemic")
    assert found["measured"] == pytest.approx(-1)
    reach = 4 * 0.01 * np.sqrt(2) / np.log(2)
    assert found["interval"] == pytest.approx((-1 - reach, -1 + reach))


def test_a_claim_is_checked_with_its_largest_deviation():
    good, bad = propositions.Deviation(1.0, 0.1, 1), propositions.Deviation(1.5, 0.1, 1)
    assert propositions.worst([good, bad, good]) == {
        "measured": 1.5,
        "interval": pytest.approx((1.1, 1.9)),
    }


@pytest.mark.usefixtures("few_cases")
def test_the_figure_shows_the_closed_forms():
    outcome = propositions.run(propositions.Config(seeds=1, steps=100), lambda _: None)
    curves = outcome.tables["closed_form"]
    rows = (curves["varied"] == "correlation") & (curves["estimator"] == "aleatoric")
    bottom_right = outcome.figure.axes[5]
    drawn = [np.asarray(line.get_ydata()) for line in bottom_right.lines]
    assert any(np.array_equal(each, curves["variance_truth"][rows]) for each in drawn)
    assert np.all(np.diff(curves["value"][rows]) > 0)
