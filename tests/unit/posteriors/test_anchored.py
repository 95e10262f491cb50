"""Randomised MAP sampling: anchors, their pull, and the exact posterior of a linear model."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from surefoot.layers import normal, orthogonal
from surefoot.networks import mlp
from surefoot.posteriors import anchored

KEY = jax.random.key(0)


def keys(posterior):
    return jax.random.split(KEY, posterior.draws)


NETWORK = mlp(2, (5,), (3,))


def arrays(network):
    return jax.tree.leaves(network)


def test_each_draw_starts_at_an_anchor_of_its_own():
    params, prior = anchored.anchored_posterior(NETWORK, 3).init(KEY)
    assert len(params) == len(prior) == 3
    for network, anchor in zip(params, prior, strict=True):
        assert all(np.array_equal(p, a) for p, a in zip(arrays(network), arrays(anchor.network), strict=True))
    assert not np.array_equal(arrays(params[0])[0], arrays(params[1])[0])


def test_initial_weights_can_be_drawn_apart_from_the_anchors():
    params, prior = anchored.anchored_posterior(NETWORK, 2, initial=NETWORK).init(KEY)
    for network, anchor in zip(params, prior, strict=True):
        assert not np.array_equal(arrays(network)[0], arrays(anchor.network)[0])


def test_a_draw_at_its_anchor_has_no_penalty_and_each_has_its_own():
    posterior = anchored.anchored_posterior(NETWORK, 3)
    params, prior = posterior.init(KEY)
    np.testing.assert_array_equal(posterior.penalty(params, prior, 10, keys(posterior)), np.zeros(3))
    moved = eqx.tree_at(lambda nets: nets[1].layers[0].bias, params, params[1].layers[0].bias + 2)
    weight = 1 / (float(prior[1].scale) ** 2 * 10)
    found = posterior.penalty(moved, prior, 10, keys(posterior))
    np.testing.assert_allclose(found, [0, weight * 5 * 2**2, 0], rtol=1e-5)


def test_the_pull_fades_with_data_and_grows_with_noise():
    params, prior = anchored.anchored_posterior(NETWORK, 1, initial=NETWORK).init(KEY)

    def penalty(noise, count):
        posterior = anchored.anchored_posterior(NETWORK, 1, weight=anchored.by_noise(noise))
        return float(posterior.penalty(params, prior, count, keys(posterior))[0])

    assert penalty(1.0, 100) == pytest.approx(penalty(1.0, 10) / 10, rel=1e-5)
    assert penalty(3.0, 10) == pytest.approx(penalty(1.0, 10) * 9, rel=1e-5)


def test_prior_scale_comes_from_the_weights_only():
    """Orthogonal [200, 200] with gain 3: every weight has variance 9 / 200; biases are zero."""
    network = mlp(200, (200,), (200,), layer=orthogonal(3.0))(KEY)
    assert float(anchored.weight_std(network)) == pytest.approx(3 / np.sqrt(200), rel=0.01)


def test_prior_scale_may_differ_from_array_to_array():
    make = mlp(1, (4,), (1,), layer=normal(1.0))
    scales = lambda anchor: jax.tree.map(lambda leaf: float(leaf.ndim), anchor)  # noqa: E731
    posterior = anchored.anchored_posterior(make, 1, initial=make, prior_scale=scales)
    params, prior = posterior.init(KEY)
    (anchor,) = prior
    distances = [
        np.sum((p - a) ** 2) / p.ndim**2 for p, a in zip(arrays(params), arrays(anchor.network), strict=True)
    ]
    np.testing.assert_allclose(
        posterior.penalty(params, prior, 2, keys(posterior)), [sum(distances) / 2], rtol=1e-5
    )


def test_predictions_are_those_of_each_network():
    posterior = anchored.anchored_posterior(NETWORK, 4)
    params, _ = posterior.init(KEY)
    inputs = jax.random.normal(KEY, (6, 2))
    found = posterior.predict(params, inputs, jax.random.split(KEY, 4))
    assert found.shape == (4, 6, 3)
    np.testing.assert_allclose(found[2, 5], params[2](inputs[5]), rtol=1e-5)


def test_a_users_own_module_can_be_sampled():
    """Equinox's own MLP has leaves that are not arrays."""
    posterior = anchored.anchored_posterior(lambda key: eqx.nn.MLP(2, 3, 8, 1, key=key), 2)
    params, prior = posterior.init(KEY)
    assert posterior.predict(params, jnp.ones((4, 2)), jax.random.split(KEY)).shape == (2, 4, 3)
    np.testing.assert_array_equal(posterior.penalty(params, prior, 5, keys(posterior)), np.zeros(2))


def test_biases_of_any_shape_are_no_weights():
    """Equinox's convolution has biases of three dimensions."""
    network = eqx.nn.Conv2d(2, 4, 3, key=KEY)
    assert float(anchored.weight_std(network)) == pytest.approx(float(network.weight.std()))
    both = (float(network.weight.std()) + float(network.bias.std())) / 2
    assert float(anchored.array_std(network)) == pytest.approx(both)
    with pytest.raises(ValueError, match="no weights"):
        anchored.weight_std(eqx.nn.Identity())


def test_map_samples_of_a_linear_model_solve_its_anchored_least_squares():
    """y = w x with noise s and prior p: a draw anchored at a is (x'y/s^2 + a/p^2) / (x'x/s^2 + 1/p^2)."""
    x, noise, prior = jnp.linspace(0.1, 1, 8)[:, None], 0.5, 2.0
    y = 3 * x[:, 0]
    make = mlp(1, (), (1,), layer=normal(prior**2), output_bias=False)
    posterior = anchored.anchored_posterior(
        make, 100, prior_scale=lambda _: prior, weight=anchored.by_noise(noise)
    )
    params, anchors = posterior.init(KEY)

    @jax.jit
    def step(params):
        def loss(params):
            errors = posterior.predict(params, x, jax.random.split(KEY, 100))[..., 0] - y[None]
            return jnp.sum(
                (errors**2).mean(axis=-1) + posterior.penalty(params, anchors, len(y), keys(posterior))
            )

        return optax.apply_updates(params, jax.tree.map(lambda g: -0.5 * g, jax.grad(loss)(params)))

    for _ in range(200):
        params = step(params)
    found = np.array([each.layers[0].weight[0, 0] for each in params])
    start = np.array([each.network.layers[0].weight[0, 0] for each in anchors])
    data, pull = float((x**2).sum()) / noise**2, 1 / prior**2
    truth = (float(x[:, 0] @ y) / noise**2 + start * pull) / (data + pull)
    np.testing.assert_allclose(found, truth, rtol=1e-3)
    # Their mean is the posterior's; they spread less than it does, by the part that the prior contributes.
    variance, contribution = 1 / (data + pull), pull / (data + pull)
    mean = float(x[:, 0] @ y) / noise**2 * variance
    assert found.mean() == pytest.approx(mean + contribution * start.mean(), rel=1e-3)
    assert found.var() == pytest.approx(variance * contribution * start.var() / prior**2, rel=1e-2)
