"""Layers: products, and how weights are drawn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot import layers
from surefoot.layers import normal, orthogonal

KEY = jax.random.key(0)


def test_a_product_with_the_weight_first_is_the_plain_one_with_its_gradients():
    keys = jax.random.split(jax.random.key(0), 3)
    weight, x, cotangent = (
        jax.random.normal(key, shape) for key, shape in zip(keys, [(5, 7), (4, 7), (4, 5)], strict=True)
    )

    def loss(product):
        return lambda weight, x: jnp.sum(cotangent * jax.vmap(product, in_axes=(None, 0))(weight, x) ** 2)

    for derived in (lambda f: f, lambda f: jax.grad(f, argnums=(0, 1))):
        tuned, plain = (
            jax.jit(derived(loss(product)))(weight, x) for product in (layers.weight_first, jnp.matmul)
        )
        for found, expected in zip(jax.tree.leaves(tuned), jax.tree.leaves(plain), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("inputs", "outputs"), [(6, 6), (9, 4), (4, 9)])
def test_orthogonal_weights_multiply_lengths_by_the_gain(inputs, outputs):
    layer = orthogonal(3.0)(KEY, inputs, outputs)
    weight = np.asarray(layer.weight)
    shorter = weight @ weight.T if outputs <= inputs else weight.T @ weight
    np.testing.assert_allclose(shorter, 9 * np.eye(min(inputs, outputs)), atol=1e-4)
    assert not np.any(layer.bias)


def test_normal_weights_and_biases_have_the_variance_over_the_inputs():
    layer = normal(4.0)(KEY, 100, 2000)
    scale = layers.normal_scale(4.0, 100)
    assert scale == pytest.approx(0.2)
    for values in (layer.weight, layer.bias):
        error = scale / np.sqrt(2 * values.size)
        assert abs(float(values.std()) - scale) < 4 * error
        assert abs(float(values.mean())) < 4 * scale / np.sqrt(values.size)
    assert abs(np.corrcoef(layer.weight[:, 0], layer.bias)[0, 1]) < 4 / np.sqrt(2000)
