"""Recalibration: levels of returns, the map of levels, and models that keep it."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import surefoot
from surefoot import recalibration
from surefoot.errors import UserError
from surefoot.recalibration import Recalibration
from surefoot.risk import parse_risk
from surefoot.runs import checkpoint
from tests.small_models import CLIFF, QUICK

LEVELS = (np.arange(20) + 0.5) / 20
RNG = np.random.default_rng(0)


def levels_of(quantiles, returns, resolution=1e-3, levels=LEVELS):
    return recalibration.levels_of_returns(quantiles, levels, returns, resolution, np.random.default_rng(1))


def test_returns_from_the_believed_distribution_have_uniform_levels():
    returns = RNG.standard_normal((1, 20_000)) * 3 + 1
    found = levels_of(3 * ndtri(LEVELS)[None] + 1, returns)
    counts = np.histogram(found, bins=10, range=(0, 1))[0]
    assert np.abs(counts - 2_000).max() < 4.5 * np.sqrt(20_000 * 0.09)


@pytest.mark.parametrize("shift", [-0.004, 0.0, 0.004])
def test_levels_are_uniform_where_chance_is_in_few_outcomes_even_if_quantiles_are_a_little_off(shift):
    """The exact quantiles of a fall with probability 0.3 lie on the two outcomes themselves."""
    quantiles = np.where(LEVELS < 0.3, -1.0, 6.0)[None] + shift
    returns = np.where(RNG.uniform(size=(1, 20_000)) < 0.3, -1.0, 6.0)
    found = levels_of(quantiles, returns, resolution=0.01)
    for part in (0.5, 0.8):
        assert np.mean(np.abs(found - 0.5) <= part / 2) == pytest.approx(part, abs=0.03)


def test_an_error_beyond_the_resolution_counts():
    returns = np.full((1, 1_000), 6.0)
    assert np.mean(np.abs(levels_of(np.full((1, 20), 6.1), returns, resolution=0.01) - 0.5) <= 0.4) == 0


def test_the_map_of_shrunken_quantiles_widens_them_beyond_the_outermost():
    believed = np.tile(0.5 * ndtri(LEVELS), (200, 1))  # Of 200 episodes, whose returns have sd 1.
    returns = RNG.standard_normal((200, 40))
    made = recalibration.fit(LEVELS, ndtri(levels_of(believed, returns)))
    assert made.episodes == 200
    widened = recalibration.apply(made, believed[:1])[0]
    np.testing.assert_allclose(widened[2:-2], ndtri(LEVELS)[2:-2], atol=0.08)
    assert widened[-1] > believed[0, -1] * 1.7
    assert np.all(np.diff(made.scores) >= 0)


def test_intervals_err_on_the_wide_side_when_episodes_are_few():
    """With one observation that could lie anywhere, as conformal prediction asks, per episode."""
    scores = np.tile(ndtri((np.arange(1_000) + 0.5) / 1_000), (9, 1))
    made = recalibration.fit([0.25, 0.75], scores)
    np.testing.assert_allclose(ndtr(made.scores), [1 - 0.75 * 10 / 9, 0.75 * 10 / 9], atol=2e-3)


def test_the_matrix_reads_the_quantile_function_at_other_levels():
    own = ndtri(LEVELS)
    wanted = Recalibration(tuple(LEVELS), tuple(np.clip(1.5 * own - 0.2, -4, 4)), 9)
    # A quantile function that is linear in the score, as of a normal distribution, stays linear beyond.
    found = recalibration.apply(wanted, (2 * own + 1)[::-1][None])[0]
    np.testing.assert_allclose(found, 2 * np.asarray(wanted.scores) + 1, atol=1e-9)


def test_returns_far_beyond_what_is_believed_are_reached_on_both_sides_alike():
    """An agent that is twenty times too sure: returns lie up to twenty of its standard deviations away."""
    believed = np.tile(0.05 * ndtri(LEVELS), (400, 1))
    returns = RNG.standard_normal((400, 50))
    scores = recalibration.scores_of_returns(believed, LEVELS, returns, 1e-3, np.random.default_rng(1))
    widened = recalibration.apply(recalibration.fit(LEVELS, scores), believed[:1])[0]
    np.testing.assert_allclose(widened[1:-1], ndtri(LEVELS)[1:-1], atol=0.15)


@pytest.mark.parametrize(
    "damage",
    [
        {},
        {"levels": [0.2, 0.8], "scores": [0.0], "episodes": 3},
        {"levels": [0.2, 0.8], "scores": [1.0, 0.0], "episodes": 3},
        {"levels": [0.2, 0.8], "scores": [0.0, float("nan")], "episodes": 3},
        {"levels": [0.2, 0.8], "scores": "ab", "episodes": 3},
    ],
)
def test_a_damaged_description_is_refused(damage):
    with pytest.raises(UserError, match="recalibration: its description is damaged"):
        Recalibration.from_json(damage)


@pytest.fixture(scope="module")
def model():
    model = surefoot.QRDQN(CLIFF, quantiles=5, **QUICK).learn(60, progress=False)
    levels = (np.arange(5) + 1) / 6
    model._set_recalibration(Recalibration(tuple(levels), tuple(2 * ndtri(levels)), 9))
    return model


def test_beliefs_say_that_they_are_recalibrated_and_keep_the_learned_quantiles(model):
    obs = np.zeros(11, np.float32)
    found = model.beliefs(obs)
    assert found.is_recalibrated
    raw = np.sort(np.asarray(found.raw_quantiles), axis=-1)
    np.testing.assert_allclose(
        np.ptp(found.quantiles, axis=-1), 2 * np.ptp(raw, axis=-1), rtol=1e-4, atol=1e-5
    )
    learned = surefoot.QRDQN(CLIFF, quantiles=5, **QUICK).beliefs(obs)
    assert not learned.is_recalibrated
    assert learned.raw_quantiles is None
    # Means stay, and with them what the agent does.
    np.testing.assert_allclose(found.mean, raw.mean(axis=-1), rtol=1e-5, atol=1e-5)


def test_a_saved_model_keeps_its_recalibration_and_one_without_has_none(model, tmp_path):
    obs = np.ones(11, np.float32)
    model.save(tmp_path / "model")
    again = surefoot.load(tmp_path / "model")
    assert again.recalibration == model.recalibration
    np.testing.assert_array_equal(again.beliefs(obs).quantiles, model.beliefs(obs).quantiles)
    plain = surefoot.QRDQN(CLIFF, quantiles=5, **QUICK)
    plain.save(tmp_path / "plain")
    assert surefoot.load(tmp_path / "plain").recalibration is None
    checkpoint.annotate(tmp_path / "plain", "recalibration", model.recalibration.as_json())
    assert surefoot.load(tmp_path / "plain").recalibration == model.recalibration


def test_a_note_leaves_the_rest_of_a_checkpoint_and_damage_is_seen(model, tmp_path):
    model.save(tmp_path / "model")
    before = checkpoint.manifest_of(tmp_path / "model")
    checkpoint.annotate(tmp_path / "model", "mine", [1, "a"])
    after = checkpoint.manifest_of(tmp_path / "model")
    assert after == before._replace(notes={**before.notes, "mine": [1, "a"]})
    path = tmp_path / "model" / checkpoint.MANIFEST
    path.write_bytes(path.read_bytes().replace(b'"mine": [1,', b'"mine": [2,'))
    with pytest.raises(UserError, match="damaged"):
        checkpoint.manifest_of(tmp_path / "model")
    with pytest.raises(UserError, match="damaged"):
        checkpoint.annotate(tmp_path / "model", "mine", [3])


def test_learning_on_drops_the_recalibration_with_a_warning():
    model = surefoot.QRDQN(CLIFF, quantiles=5, **QUICK).learn(60, progress=False)
    levels = (np.arange(5) + 1) / 6
    model._set_recalibration(Recalibration(tuple(levels), tuple(ndtri(levels)), 9))
    with pytest.warns(UserWarning, match="the recalibration is dropped"):
        model.learn(20, progress=False)
    assert model.recalibration is None
    assert not model.beliefs(np.zeros(11, np.float32)).is_recalibrated


def test_attitudes_to_risk_read_the_recalibrated_quantiles(model):
    obs = np.random.default_rng(0).uniform(size=(300, 11)).astype(np.float32)
    actions, _ = model.predict(obs, risk="cvar:0.5")
    beliefs, measure = model.beliefs(obs), parse_risk("cvar:0.5")
    np.testing.assert_array_equal(actions, np.argmax(measure(beliefs), axis=-1))
    learned = measure(beliefs._replace(quantiles=beliefs.raw_quantiles))
    assert np.any(actions != np.argmax(learned, axis=-1))
