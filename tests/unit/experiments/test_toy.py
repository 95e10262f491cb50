"""Figure 1: the experiment's data, its measures on synthetic networks, its claims on synthetic tables."""

import json
import sys
from functools import cache

import jax
import numpy as np
import pytest

from surefoot import estimators
from surefoot.claims import Verdict
from surefoot.errors import UserError
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


def test_there_may_be_an_odd_number_of_points():
    assert toy.make_data(jax.random.key(0), 7)[1].shape == (7,)


def table_of(draws_by_seed):
    return toy.stack_tables([toy.measure(seed, draws) for seed, draws in enumerate(draws_by_seed)])


def synthetic_draws(rng, epistemic_far, aleatoric):
    """Quantiles of four networks with low epistemic sd at the data, another one far away, and equal noise."""
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


def test_every_claim_holds_for_the_networks_that_the_paper_describes():
    rng = np.random.default_rng(0)
    table = table_of([synthetic_draws(rng, 1.0, 1 / 3) for _ in range(5)])
    assert verdicts(table) == [Verdict.HOLDS] * 5


def test_claims_fail_for_networks_with_little_epistemic_and_too_much_aleatoric_variance():
    rng = np.random.default_rng(0)
    table = table_of([synthetic_draws(rng, 0.05, 1.0) for _ in range(5)])
    assert verdicts(table)[:2] == [Verdict.FAILS, Verdict.FAILS]


def test_the_claim_on_the_covariance_fails_for_the_variance_of_one_network():
    rng = np.random.default_rng(0)
    table = dict(table_of([synthetic_draws(rng, 1.0, 1 / 3) for _ in range(5)]))
    table["aleatoric_variance"] = table["quantile_variance"]
    assert verdicts(table)[3] == Verdict.FAILS


def test_one_seed_decides_only_the_identity_of_variances():
    table = table_of([synthetic_draws(np.random.default_rng(0), 1.0, 1 / 3)])
    assert verdicts(table) == [Verdict.UNDECIDED] * 4 + [Verdict.HOLDS]


def test_a_claim_fails_if_the_total_variance_is_not_the_sum():
    table = dict(table_of([synthetic_draws(np.random.default_rng(0), 1.0, 1 / 3)]))
    table["total_variance"] = table["total_variance"] * 1.001
    assert verdicts(table)[4] == Verdict.FAILS


@pytest.mark.usefixtures("small_networks")
def test_a_short_experiment_gives_tables_and_a_figure_and_reports_progress():
    progress = []
    outcome = toy.run(toy.Config(seeds=2, steps=30, points=20, batch=8), progress.append)
    assert sum(progress) == pytest.approx(1)
    table = outcome.tables["data"]
    assert len(table["x"]) == 2 * len(toy.GRID)
    assert len(outcome.tables["points"]["x"]) == 2 * 20
    assert all(np.all(np.isfinite(table[name])) for name in table)
    first, second = table["mean"].reshape(2, -1)
    assert not np.allclose(first, second)
    left, right = outcome.figure.axes
    assert "2 seeds, 95 % CI" in right.get_title(loc="left")
    assert left.get_title(loc="left") == "Both uncertainties from two networks, one seed (± 1 sd)"
    labels = left.get_legend_handles_labels()[1]
    assert labels == ["data", "mean", "± aleatoric", "± epistemic", "± total"]


@pytest.fixture
def small_networks(monkeypatch):
    monkeypatch.setattr(toy, "HIDDEN_WIDTHS", (32, 32))


@pytest.fixture(scope="module")
def mean_after():
    """The mean of small networks on the grid, by steps and anchor weight; each is trained once."""

    @cache
    def mean(steps, anchor_weight):
        config = toy.Config(seeds=1, steps=steps, anchor_weight=anchor_weight, learning_rate=1e-3)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(toy, "HIDDEN_WIDTHS", (32, 32))
            return toy.run(config, lambda _: None).tables["data"]["mean"]

    return mean


def test_training_moves_the_mean_towards_the_cosine(mean_after):
    truth = np.cos(2 * np.pi * toy.GRID)
    before, after = (
        np.sqrt(np.mean((mean_after(steps, 1e-4) - truth)[toy.AT_DATA] ** 2)) for steps in (1, 300)
    )
    assert after < 0.5 * before


def test_a_strong_anchor_keeps_networks_at_their_initial_weights(mean_after):
    weak, strong = (np.abs(mean_after(300, weight) - mean_after(1, 1e-4)).mean() for weight in (1e-4, 1e3))
    assert strong < 0.3 * weak


def test_measures_are_the_estimates_from_two_networks():
    draws = synthetic_draws(np.random.default_rng(0), 1.0, 1 / 3)
    table = toy.measure(0, draws)
    np.testing.assert_allclose(table["aleatoric_variance"], estimators.aleatoric_variance(draws[0], draws[1]))
    np.testing.assert_allclose(table["mean"], draws[:2].mean(axis=(0, 2)))


def test_networks_are_those_of_the_paper():
    network = toy.networks()(gain=toy.PRIOR_GAIN)(jax.random.key(0))
    assert [layer.weight.shape for layer in network.layers] == [(200, 1), (200, 200), (50, 200)]
    hidden = np.asarray(network.layers[1].weight)
    np.testing.assert_allclose(hidden @ hidden.T, 49 * np.eye(200), atol=1e-3)
    assert network.activation is jax.numpy.tanh


def test_the_figure_draws_each_uncertainty_from_its_own_column():
    table = table_of([synthetic_draws(np.random.default_rng(seed), 1.0, 1 / 3) for seed in range(2)])
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


@pytest.mark.usefixtures("small_networks")
def test_mc_dropout_has_more_epistemic_variance_far_from_the_data_than_at_it():
    config = toy.Config(posterior="mc-dropout", seeds=2, steps=200, learning_rate=1e-3)
    outcome = toy.run(config, lambda _: None)
    variance = outcome.tables["data"]["epistemic_variance"].reshape(2, -1)
    assert np.all(variance > 0)
    far, near = (variance[:, region].mean(axis=1) for region in (toy.FAR_FROM_DATA, toy.AT_DATA))
    assert np.all(far > 1.3 * near)
    title = outcome.figure.axes[0].get_title(loc="left")
    assert title == "Both uncertainties from two draws of mc-dropout, one seed (± 1 sd)"


@pytest.mark.usefixtures("small_networks")
def test_a_posterior_may_be_imported_by_its_path():
    names = ("mc-dropout", "surefoot.posteriors.mc_dropout:KIND")
    one, other = (
        toy.run(toy.Config(posterior=name, seeds=1, steps=2), lambda _: None).tables["data"] for name in names
    )
    np.testing.assert_array_equal(one["epistemic_variance"], other["epistemic_variance"])


@pytest.mark.usefixtures("small_networks")
def test_the_command_imports_a_posterior_from_the_working_directory(run, tmp_path, monkeypatch):
    (tmp_path / "own_posterior.py").write_text("from surefoot.posteriors.mc_dropout import KIND\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in sys.path if each])
    settings = ["--posterior", "own_posterior:KIND", "--seeds", "1", "--steps", "1"]
    code, out, _ = run("reproduce", "toy", *settings, "--out", "results")
    assert code == 0
    assert out.count("undecided") == 4  # The sum of the parts is exact, however short the run.
    summary = json.loads((tmp_path / "results" / "summary.json").read_text())
    assert summary["settings"]["posterior"] == "own_posterior:KIND"


def test_networks_of_other_posteriors_have_the_gain_and_dropout_of_their_settings():
    kind = toy.POSTERIORS.resolve("mc-dropout")
    network = toy.make_posterior(toy.Config(posterior="mc-dropout")).init(jax.random.key(0)).params
    hidden = np.asarray(network.layers[1].weight)
    np.testing.assert_allclose(hidden @ hidden.T, kind.config().dropout_gain ** 2 * np.eye(200), atol=1e-3)
    assert network.dropout.rate == kind.config().dropout_rate
    assert network.activation is jax.numpy.tanh


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"posterior": "dropout"},
            "posterior: got dropout, accepted: anchored, mc-dropout, .* or package.module",
        ),
        ({"posterior": "math:pi"}, "posterior: got math:pi, which is a float, accepted: PosteriorKind"),
        ({"points": 1}, "points: got 1, accepted: numbers from 2"),
        ({"anchor_weight": 0}, "anchor_weight: got 0, accepted: numbers above 0"),
    ],
)
def test_unknown_posteriors_and_numbers_out_of_bounds_are_refused(settings, message):
    with pytest.raises(UserError, match=message):
        toy.Config(**settings)
