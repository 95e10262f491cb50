"""Losses: closed forms, the likelihood behind them, and the hand-written gradient against autodiff's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats

from surefoot import losses

KAPPAS = [0.0, 0.1, 1.0, 5.0]


def random(seed, *shape):
    return jnp.asarray(np.random.default_rng(seed).normal(size=shape), jnp.float32)


def test_levels_are_those_of_the_paper_and_of_the_released_code():
    np.testing.assert_allclose(losses.quantile_levels(3), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(losses.midpoint_levels(4), [0.125, 0.375, 0.625, 0.875])


def test_the_pinball_loss_equals_a_case_computed_by_hand():
    errors, levels = jnp.array([2.0, -2.0, 0.0]), jnp.array([0.9, 0.9, 0.9])
    np.testing.assert_allclose(losses.pinball(errors, levels), [1.8, 0.2, 0.0], rtol=1e-6)


def test_the_quantile_huber_loss_is_quadratic_within_kappa_and_linear_beyond():
    errors, levels = jnp.array([1.0, -1.0, 3.0, -3.0]), jnp.full(4, 0.9)
    by_hand = [0.9 * 1 / 4, 0.1 * 1 / 4, 0.9 * (3 - 1), 0.1 * (3 - 1)]
    np.testing.assert_allclose(losses.quantile_huber(errors, levels, 2.0), by_hand, rtol=1e-6)


def test_the_quantile_huber_loss_tends_to_the_pinball_loss_as_kappa_shrinks():
    errors, levels = random(0, 100), jnp.full(100, 0.3)
    np.testing.assert_array_equal(losses.quantile_huber(errors, levels, 0.0), losses.pinball(errors, levels))
    np.testing.assert_allclose(
        losses.quantile_huber(errors, levels, 1e-4), losses.pinball(errors, levels), atol=1e-4
    )


@pytest.mark.parametrize("kappa", KAPPAS)
def test_the_quantile_loss_is_the_sum_over_quantiles_of_the_mean_over_targets(kappa):
    quantiles, targets, levels = random(0, 2, 3), random(1, 2, 4), losses.quantile_levels(3)
    by_hand = [
        sum(
            float(losses.quantile_huber(targets[b, j] - quantiles[b, i], levels[i], kappa)) / 4
            for i in range(3)
            for j in range(4)
        )
        for b in range(2)
    ]
    found = losses.quantile_loss(quantiles, targets, levels, kappa)
    np.testing.assert_allclose(found, by_hand, rtol=1e-5)


def plain_loss(quantiles, targets, levels, kappa):
    """The definition of the loss without a batch, for autodiff to differentiate."""
    errors = targets[None, :] - quantiles[:, None]
    aligned = jnp.broadcast_to(levels[:, None], errors.shape)
    return losses.quantile_huber(errors, aligned, kappa).mean(axis=1).sum()


@pytest.mark.parametrize("kappa", KAPPAS)
@pytest.mark.parametrize("shape", [(), (5,), (2, 3)])
def test_the_hand_written_gradient_equals_that_of_autodiff(kappa, shape):
    quantiles, targets, weights = random(0, *shape, 7), random(1, *shape, 11), random(2, *shape)
    levels = losses.quantile_levels(7)

    def hand_written(quantiles, targets):
        return jnp.sum(weights * losses.quantile_loss(quantiles, targets, levels, kappa))

    def by_autodiff(quantiles, targets):
        batched = jax.vmap(lambda q, t: plain_loss(q, t, levels, kappa))
        return jnp.sum(weights.reshape(-1) * batched(quantiles.reshape(-1, 7), targets.reshape(-1, 11)))

    for argument in (0, 1):
        found = jax.jit(jax.grad(hand_written, argument))(quantiles, targets)
        truth = jax.grad(by_autodiff, argument)(quantiles, targets)
        np.testing.assert_allclose(found, truth, rtol=1e-4, atol=1e-6)


def test_the_hand_written_gradient_equals_that_of_autodiff_where_targets_equal_quantiles():
    values, levels = jnp.arange(5.0), losses.quantile_levels(5)
    found = jax.grad(losses.quantile_loss)(values, values, levels)
    truth = jax.grad(plain_loss)(values, values, levels, 0.0)
    np.testing.assert_allclose(found, truth, rtol=1e-5)


def test_the_gradient_alone_does_not_compute_the_loss():
    """This makes it fast: of the N x M errors, the program has only comparisons."""
    quantiles, targets, levels = random(0, 8, 50), random(1, 8, 50), losses.quantile_levels(50)
    gradient = jax.jit(jax.grad(lambda q: losses.quantile_loss(q, targets, levels).sum()))
    program = gradient.lower(quantiles).compile().as_text()
    products = [line for line in program.splitlines() if "f32[8,50,50]" in line and "multiply" in line]
    assert "compare" in program
    assert not products


def test_the_minimum_of_the_loss_is_at_the_quantiles_of_the_targets():
    samples = random(0, 501)
    levels = losses.quantile_levels(3)
    quantiles = jnp.zeros(3)
    for rate in (1.0, 0.1, 0.01, 0.001):
        step = jax.jit(lambda q, r=rate: q - r * jax.grad(losses.quantile_loss)(q, samples, levels))
        for _ in range(200):
            quantiles = step(quantiles)
    truth = np.quantile(samples, levels)
    np.testing.assert_allclose(quantiles, truth, atol=0.02)


def test_the_likelihood_of_one_quantile_is_the_asymmetric_laplace_law():
    """Eq. 2 with scale s and level t is scipy's law with kappa^2 = t / (1 - t)."""
    samples, level, scale = random(0, 20), 0.3, 0.7
    kappa = np.sqrt(level / (1 - level))
    law = stats.laplace_asymmetric(kappa, loc=0.5, scale=scale / np.sqrt(level * (1 - level)))
    found = losses.log_likelihood_of_quantile(samples, jnp.asarray(0.5), jnp.asarray(level), scale)
    np.testing.assert_allclose(found, law.logpdf(samples).sum(), rtol=1e-5)


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_the_log_likelihood_is_a_constant_less_the_scaled_loss(scale):
    """Eq. 3 is compared with eq. 1 at several quantiles."""
    samples, levels = random(0, 30), losses.quantile_levels(4)
    constant = 30 * np.sum(np.log(levels * (1 - levels) / scale))
    for seed in range(5):
        quantiles = random(seed + 1, 4)
        found = losses.log_likelihood(samples, quantiles, levels, scale)
        loss = losses.quantile_loss(quantiles, samples, levels)
        np.testing.assert_allclose(found, constant - 30 / scale * loss, rtol=1e-5)


def test_minimising_the_loss_is_maximising_the_likelihood():
    samples, levels = random(0, 31), losses.quantile_levels(1)

    def best(objective):
        return optimize.minimize_scalar(objective, bounds=(-3, 3), method="bounded").x

    of_loss = best(lambda q: float(losses.quantile_loss(jnp.array([q]), samples, levels)))
    of_likelihood = best(lambda q: -float(losses.log_likelihood(samples, jnp.array([q]), levels, 2.0)))
    assert of_loss == pytest.approx(of_likelihood, abs=1e-3)
    assert of_loss == pytest.approx(np.median(samples), abs=1e-3)


def test_the_anchor_weight_grows_with_noise_and_falls_with_data_and_wide_priors():
    weight = losses.anchor_weight(prior_scale=2.0, noise_scale=3.0, data_count=10)
    assert weight == pytest.approx(9 / (4 * 10))


def test_the_anchor_penalty_is_the_weighted_squared_distance():
    params = {"weight": jnp.array([[1.0, 2.0]]), "bias": jnp.array([3.0])}
    anchors = {"weight": jnp.array([[0.0, 0.0]]), "bias": jnp.array([1.0])}
    assert float(losses.anchor_penalty(params, anchors, 0.5)) == pytest.approx(0.5 * (1 + 4 + 4))
    weights = {"weight": 0.1, "bias": 10.0}
    assert float(losses.anchor_penalty(params, anchors, weights)) == pytest.approx(0.5 + 40)


def test_an_anchored_squared_error_finds_the_posterior_mode_of_a_normal_mean():
    """With squared errors the penalty is exact: the mode is the precision-weighted mean."""
    samples, prior_scale, noise_scale, anchor = random(0, 5), 0.5, 2.0, jnp.asarray(1.0)
    weight = losses.anchor_weight(prior_scale=prior_scale, noise_scale=noise_scale, data_count=5)

    def loss(value):
        fit = jnp.mean((samples - value) ** 2)
        return fit + losses.anchor_penalty([value], [anchor], weight)

    precisions = np.array([5 / noise_scale**2, 1 / prior_scale**2])
    mode = np.average([samples.mean(), anchor], weights=precisions)
    assert float(jax.grad(loss)(jnp.asarray(mode, jnp.float32))) == pytest.approx(0, abs=1e-5)
