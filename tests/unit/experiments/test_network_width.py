"""The width experiment: its prior, its measures on synthetic outputs, its claims on synthetic tables."""

import jax
import numpy as np
import pytest

from surefoot.claims import Verdict
from surefoot.experiments import network_width as widths
from surefoot.layers import normal
from surefoot.networks import mlp

SEEDS = 40


def members(rng, correlation, seeds):
    """Outputs of unit variance with a given pairwise correlation over networks."""
    shape = (seeds, widths.MEMBERS, len(widths.GRID))
    shared = rng.normal(size=(seeds, 1, 1))
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.normal(size=shape)


def synthetic_table(correlations, seeds=SEEDS):
    """A table of networks with these correlations by width, and of independent ensembles of unit spread."""
    rng = np.random.default_rng(0)
    return widths.stack_tables(
        [
            widths._measure(width, kind, members(rng, rho if kind == "network" else 0.0, seeds))
            for width, rho in correlations.items()
            for kind in ("network", "ensemble")
        ]
    )


def test_points_are_those_of_the_appendix():
    np.testing.assert_allclose(widths.POINTS_X, [-0.8, -0.1, 0.02, 0.2, 0.6, 0.8])
    assert widths.POINTS_Y[0] == pytest.approx(-0.8 * np.sin(-4.0))


def test_prior_scales_are_the_standard_deviations_of_the_initial_weights():
    network = mlp(1, (2000,), (50,), layer=normal(4.0), output_bias=False)(jax.random.key(0))
    scales = widths.prior_scales(network)
    assert jax.tree.structure(scales) == jax.tree.structure(network)
    for array, scale in zip(jax.tree.leaves(network), jax.tree.leaves(scales), strict=True):
        assert float(array.std()) == pytest.approx(scale, rel=0.1)
    assert jax.tree.leaves(scales) == pytest.approx([2, 2, 2 / np.sqrt(2000)])


@pytest.mark.parametrize("correlation", [0.0, 0.3, 0.9])
def test_correlation_and_spread_are_recovered_from_synthetic_outputs(correlation):
    by_width = widths.compare(synthetic_table({10: correlation}))
    low, high = by_width["correlation_low"][0], by_width["correlation_high"][0]
    assert low <= correlation <= high
    assert high - low < 0.5
    assert by_width["spread_ratio"][0] == pytest.approx(np.sqrt(1 - correlation), rel=0.02)


def test_claims_hold_for_correlated_narrow_and_independent_wide_networks():
    by_width = widths.compare(synthetic_table({10: 0.6, 100: 0.0}))
    assert [each.verdict for each in widths.claims(by_width)] == [Verdict.HOLDS] * 4


def test_claims_fail_for_independent_narrow_and_correlated_wide_networks():
    by_width = widths.compare(synthetic_table({10: 0.0, 100: 0.9}))
    assert [each.verdict for each in widths.claims(by_width)] == [Verdict.FAILS] * 4


def test_a_short_experiment_gives_tables_and_a_figure_and_reports_progress(monkeypatch):
    monkeypatch.setattr(widths, "MEMBERS", 3)
    progress = []
    outcome = widths.run(widths.Config(seeds=3, steps=20, widths=(10, 100)), progress.append)
    assert sum(progress) == pytest.approx(1)
    table = outcome.tables["data"]
    assert len(table["x"]) == 2 * 2 * 3 * len(widths.GRID)
    assert set(table["kind"]) == {"network", "ensemble"}
    assert np.all(table["sd"] > 0)
    titles = [axes.get_title(loc="left") for axes in outcome.figure.axes]
    assert "one network, 20 outputs, width 10" in titles
    assert "3 seeds, 95 % CI" in titles


def test_one_seed_decides_nothing():
    by_width = widths.compare(synthetic_table({10: 0.6, 100: 0.0}, seeds=1))
    assert [each.verdict for each in widths.claims(by_width)] == [Verdict.UNDECIDED] * 4


def test_trained_networks_pass_through_the_points():
    config = widths.Config(seeds=1, steps=600, widths=(10, 100))
    predictions = widths.train(config, 100, 1, widths.MEMBERS, lambda _: None)[0, 0]  # [grid, output]
    found = [np.interp(x, widths.GRID, predictions.mean(axis=-1)) for x in widths.POINTS_X]
    np.testing.assert_allclose(found, widths.POINTS_Y, atol=0.15)
    far, near = predictions[0].std(), predictions[np.argmin(np.abs(widths.GRID - 0.6))].std()
    assert far > 10 * near


@pytest.mark.slow
def test_no_network_shares_weights_with_one_of_another_seed_kind_or_width(monkeypatch):
    first_weights = []
    make = widths.anchored.anchored_posterior

    def spy(network, draws, **options):
        assert options["initial"] is not None
        posterior = make(network, draws, **options)

        def init(key):
            found = posterior.init(key)
            first_weights.extend(np.asarray(each.layers[0].weight)[0, 0] for each in found.params)
            first_weights.extend(np.asarray(each.network.layers[0].weight)[0, 0] for each in found.prior)
            return found

        return posterior._replace(init=init)

    monkeypatch.setattr(widths.anchored, "anchored_posterior", spy)
    config = widths.Config(seeds=2, steps=1)
    for width in (10, 100):
        widths.train(config, width, 1, 3, lambda _: None)
        widths.train(config, width, 3, 1, lambda _: None)
    assert len(first_weights) == 2 * 2 * 2 * (1 + 3)
    assert len(set(first_weights)) == len(first_weights)


@pytest.mark.slow
def test_two_seeds_give_different_predictions():
    first, second = widths.train(widths.Config(seeds=2, steps=3), 10, 1, 4, lambda _: None)
    assert not np.allclose(first, second)


def test_a_strong_anchor_keeps_networks_from_fitting_the_points(monkeypatch):
    config = widths.Config(seeds=1, steps=400)

    def misfit():
        predictions = widths.train(config, 100, 1, widths.MEMBERS, lambda _: None)[0, 0]
        found = [np.interp(x, widths.GRID, predictions.mean(axis=-1)) for x in widths.POINTS_X]
        return np.abs(found - widths.POINTS_Y).max()

    weak = misfit()
    monkeypatch.setattr(widths, "NOISE", 30.0)
    assert misfit() > 3 * weak
