"""Figure 1's experiment: its data, its measures on made-up networks, its claims on made-up tables."""

import jax
import numpy as np
import pytest

from surefoot import estimators
from surefoot.claims import Verdict
from surefoot.experiments import toy


def test_data_are_two_clusters_around_a_cosine():
    x, y = (np.asarray(each) for each in toy.make_data(jax.random.key(0), 20_000))
    x = x[:, 0]
    for part, (mean, std) in zip((x[:10_000], x[10_000:]), toy.CLUSTERS, strict=True):
        assert abs(part.mean() - mean) < 4 * std / 100
        assert part.std() == pytest.approx(std, rel=0.04)
    noise = y - np.cos(2 * np.pi * x)
    assert abs(noise.mean()) < 4 * toy.NOISE / np.sqrt(20_000)
    assert noise.std() == pytest.approx(1 / 3, rel=0.03)


def test_an_odd_number_of_points_is_kept():
    assert toy.make_data(jax.random.key(0), 7)[1].shape == (7,)


def table_of(draws_by_seed):
    return toy.stack_tables([toy.measure(seed, draws) for seed, draws in enumerate(draws_by_seed)])


def networks(rng, epistemic_far, aleatoric):
    """Four networks as the paper hopes for: sure at the data, unsure far away, noise everywhere."""
    sd = np.where(toy.AT_DATA, 0.05, epistemic_far)[None, :, None]
    quantiles = aleatoric * np.linspace(-1.7, 1.7, toy.QUANTILES)
    return quantiles + sd * rng.normal(size=(toy.DRAWS, len(toy.GRID), toy.QUANTILES))


def verdicts(table):
    return [each.verdict for each in toy.claims(table)]


def test_regions_lie_at_and_far_from_the_clusters():
    assert toy.AT_DATA[np.argmin(np.abs(toy.GRID + 1))]
    assert toy.FAR_FROM_DATA[0]
    assert toy.FAR_FROM_DATA[-1]
    assert not np.any(toy.AT_DATA & toy.FAR_FROM_DATA)


def test_every_claim_holds_for_networks_as_the_paper_hopes():
    rng = np.random.default_rng(0)
    table = table_of([networks(rng, 1.0, 1 / 3) for _ in range(5)])
    assert verdicts(table) == [Verdict.HOLDS] * 5


def test_claims_fail_for_networks_that_are_sure_everywhere_and_see_too_much_noise():
    rng = np.random.default_rng(0)
    table = table_of([networks(rng, 0.05, 1.0) for _ in range(5)])
    assert verdicts(table)[:2] == [Verdict.FAILS, Verdict.FAILS]


def test_conflation_claims_tell_a_biased_estimator_from_an_unbiased_one():
    """Put the variance of one network where the covariance belongs, and the claim about it fails."""
    rng = np.random.default_rng(0)
    table = dict(table_of([networks(rng, 1.0, 1 / 3) for _ in range(5)]))
    table["aleatoric_variance"] = table["quantile_variance"]
    assert verdicts(table)[3] == Verdict.FAILS


def test_one_seed_decides_nothing_but_the_identity():
    table = table_of([networks(np.random.default_rng(0), 1.0, 1 / 3)])
    assert verdicts(table) == [Verdict.UNDECIDED] * 4 + [Verdict.HOLDS]


def test_a_total_that_is_not_the_sum_is_noticed():
    table = dict(table_of([networks(np.random.default_rng(0), 1.0, 1 / 3)]))
    table["total_variance"] = table["total_variance"] * 1.001
    assert verdicts(table)[4] == Verdict.FAILS


def test_a_short_run_gives_tables_and_a_figure_and_counts_its_progress():
    done = []
    outcome = toy.run(toy.Config(seeds=2, steps=30, points=20, batch=8), done.append)
    assert sum(done) == pytest.approx(1)
    table = outcome.tables["data"]
    assert len(table["x"]) == 2 * len(toy.GRID)
    assert len(outcome.tables["points"]["x"]) == 2 * 20
    assert all(np.all(np.isfinite(table[name])) for name in table)
    first, second = table["mean"].reshape(2, -1)
    assert not np.allclose(first, second)
    left, right = outcome.figure.axes
    assert "2 seeds, 95 % CI" in right.get_title(loc="left")
    labels = left.get_legend_handles_labels()[1]
    assert labels == ["data", "mean", "± aleatoric", "± epistemic", "± total"]


def test_training_fits_the_noise_of_a_simple_data_set():
    """A few hundred steps find the level of the data: the mean moves towards the cosine."""
    short = toy.run(toy.Config(seeds=1, steps=1), lambda _: None).tables["data"]
    longer = toy.run(toy.Config(seeds=1, steps=400), lambda _: None).tables["data"]
    truth = np.cos(2 * np.pi * toy.GRID)
    error = [np.sqrt(np.mean((each["mean"] - truth)[toy.AT_DATA] ** 2)) for each in (short, longer)]
    assert error[1] < 0.5 * error[0]


def test_measures_are_the_two_network_estimates():
    draws = networks(np.random.default_rng(0), 1.0, 1 / 3)
    table = toy.measure(0, draws)
    np.testing.assert_allclose(table["aleatoric_variance"], estimators.aleatoric_variance(draws[0], draws[1]))
    np.testing.assert_allclose(table["mean"], draws[:2].mean(axis=(0, 2)))


def test_networks_are_those_of_the_figure():
    network = toy.NETWORK(jax.random.key(0))
    assert [layer.weight.shape for layer in network.layers] == [(200, 1), (200, 200), (50, 200)]
    hidden = np.asarray(network.layers[1].weight)
    np.testing.assert_allclose(hidden @ hidden.T, 49 * np.eye(200), atol=1e-3)
    assert network.activation is jax.numpy.tanh


def test_a_strong_anchor_keeps_networks_where_they_began():
    def moved(weight):
        tables = [
            toy.run(toy.Config(seeds=1, steps=steps, anchor_weight=weight), lambda _: None).tables["data"]
            for steps in (1, 150)
        ]
        return np.abs(tables[1]["mean"] - tables[0]["mean"]).mean()

    assert moved(1e3) < 0.3 * moved(1e-4)


def test_the_figure_draws_each_uncertainty_from_its_own_column():
    table = table_of([networks(np.random.default_rng(seed), 1.0, 1 / 3) for seed in range(2)])
    points = {"seed": np.array([0, 1]), "x": np.zeros(2), "y": np.zeros(2)}
    left, right = toy.figure.draw(table, points).axes
    first = table["seed"] == 0
    mean = table["mean"][first]
    band = left.collections[1].get_paths()[0].vertices[:, 1]
    reach = np.sqrt(np.maximum(table["aleatoric_variance"][first], 0))
    assert set(np.round(mean + reach, 6)) <= set(np.round(band, 6))
    for label in ("epistemic", "total"):
        (line,) = [each for each in left.lines if each.get_label() == f"± {label}"]
        expected = mean - np.sqrt(np.maximum(table[f"{label}_variance"][first], 0))
        np.testing.assert_allclose(line.get_ydata(), expected)
    for line, column in zip(right.lines, ("quantile_variance", "aleatoric_variance"), strict=False):
        np.testing.assert_allclose(line.get_ydata(), table[column].reshape(2, -1).mean(axis=0))
