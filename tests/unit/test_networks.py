"""Networks: shapes, initial weights, and the convolution by patches against XLA's own."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot import networks
from surefoot.layers import normal
from surefoot.networks import draw_each, minatar_cnn, mlp

KEY = jax.random.key(0)
MAKE_MINATAR = jax.jit(minatar_cnn((10, 10, 4), (6, 50)))
"""Compiled once, because several tests draw this network."""


@pytest.mark.parametrize("widths", [(), (5,), (7, 3)])
@pytest.mark.parametrize("output_shape", [(4,), (2, 6)])
def test_an_mlp_has_the_given_widths_and_output_shape(widths, output_shape):
    network = mlp(3, widths, output_shape)(KEY)
    assert [layer.weight.shape[0] for layer in network.layers[:-1]] == list(widths)
    assert network(jnp.ones(3)).shape == output_shape
    assert jax.vmap(network)(jnp.ones((8, 3))).shape == (8, *output_shape)


@pytest.mark.parametrize("activation", [jax.nn.relu, jnp.tanh])
def test_an_mlp_is_affine_layers_with_an_activation_between_them(activation):
    network = mlp(3, (5, 4), (2,), activation=activation, layer=normal(1.0))(KEY)
    x = np.array([0.3, -1.0, 2.0])
    y = x
    for layer in network.layers[:-1]:
        y = np.asarray(activation(np.asarray(layer.weight) @ y + np.asarray(layer.bias)))
    y = np.asarray(network.layers[-1].weight) @ y + np.asarray(network.layers[-1].bias)
    np.testing.assert_allclose(network(jnp.asarray(x, jnp.float32)), y, rtol=1e-5)


@pytest.mark.parametrize("channels", [1, 2, 4, 6, 7, 10])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.float32])
def test_patches_are_all_windows_of_an_image_and_a_one(dtype, channels):
    image = (np.random.default_rng(0).random((5, 6, channels)) * 3).astype(dtype)
    windows = [image[i : i + 3, j : j + 3].reshape(-1) for i in range(3) for j in range(4)]
    found = networks._patches_and_one(jnp.asarray(image), jnp.float32)
    assert found.dtype == jnp.float32
    patches, one, zeros = np.split(found, [9 * channels, 9 * channels + 1], axis=1)
    np.testing.assert_array_equal(patches, np.array(windows, np.float32))
    np.testing.assert_array_equal(one, 1)
    np.testing.assert_array_equal(zeros, 0)


def test_the_output_layer_can_have_no_bias():
    network = mlp(2, (3,), (1,), layer=normal(1.0), output_bias=False)(KEY)
    assert network.layers[-1].bias is None
    assert network.layers[0].bias is not None


def test_two_seeds_give_different_networks():
    for make in (mlp(3, (5,), (2,)), MAKE_MINATAR):
        first, again, other = make(KEY), make(KEY), make(jax.random.key(1))
        leaves = [jax.tree.leaves(each) for each in (first, again, other)]
        assert all(np.array_equal(a, b) for a, b in zip(leaves[0], leaves[1], strict=True))
        assert not np.array_equal(leaves[0][0], leaves[2][0])


def plain_minatar_cnn(network, image):
    """The outputs of the same network, with XLA's own convolution."""
    channels = image.shape[-1]
    kernel = network.convolution.weight.reshape(16, 3, 3, channels).transpose(1, 2, 3, 0)
    features = jax.lax.conv_general_dilated(
        image[None], kernel, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )[0]
    features = features + jnp.broadcast_to(network.convolution.bias, features.shape)
    hidden = jax.nn.relu(network.hidden.weight @ jax.nn.relu(features).reshape(-1) + network.hidden.bias)
    return (network.output.weight @ hidden + network.output.bias).reshape(network.output_shape)


@pytest.mark.parametrize("channels", [4, 10])
def test_the_minatar_network_equals_one_with_the_convolution_of_xla(channels):
    network = minatar_cnn((10, 10, channels), (6, 50), layer=normal(2.0))(KEY)
    assert network.convolution.weight.shape == (16, 9 * channels)
    assert network.hidden.weight.shape == (128, 8 * 8 * 16)
    image = jax.random.normal(jax.random.key(1), (10, 10, channels))
    found, truth = network(image), plain_minatar_cnn(network, image)
    assert found.shape == (6, 50)
    np.testing.assert_allclose(found, truth, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("channels", [4, 7])
def test_images_of_booleans_and_bytes_give_what_floats_give_and_equal_gradients(channels):
    network = minatar_cnn((10, 10, channels), (6,), layer=normal(2.0))(KEY)
    image = jax.random.bernoulli(KEY, 0.2, (10, 10, channels))

    def outputs_and_gradient(image):
        gradient = jax.grad(lambda each: jnp.sum(each(image) ** 2))(network)
        return jax.tree.leaves((network(image), gradient))

    truth = jax.tree.leaves((plain_minatar_cnn(network, image.astype(float)), plain_gradient(network, image)))
    for dtype in (jnp.bool_, jnp.uint8, jnp.float32):
        for found, wanted in zip(outputs_and_gradient(image.astype(dtype)), truth, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def plain_gradient(network, image):
    """The gradient of the sum of squared outputs, through XLA's own convolution."""
    return jax.grad(lambda each: jnp.sum(plain_minatar_cnn(each, image.astype(float)) ** 2))(network)


def test_the_initial_minatar_network_has_gain_root_two_and_zero_biases():
    network = MAKE_MINATAR(KEY)
    gram = np.asarray(network.hidden.weight @ network.hidden.weight.T)
    np.testing.assert_allclose(gram, 2 * np.eye(128), atol=1e-4)
    assert not any(np.any(each.bias) for each in (network.convolution, network.hidden, network.output))


def test_networks_drawn_in_a_loop_are_those_that_their_keys_draw_alone():
    make, keys = mlp(3, [5], (2, 4), output_bias=False), jax.random.split(jax.random.key(0), 3)
    drawn = draw_each(make, keys)
    for network, key in zip(drawn, keys, strict=True):
        alone = make(key)
        assert jax.tree.structure(network) == jax.tree.structure(alone)
        jax.tree.map(np.testing.assert_array_equal, network, alone)


@pytest.mark.parametrize("kind", ["one", "heads", "with a prior function"])
def test_a_batch_of_images_at_once_gives_what_each_gives_alone_and_equal_gradients(kind):
    make = networks.minatar_cnn((6, 5, 4), (3,))
    make = {
        "one": make,
        "heads": networks.minatar_heads((6, 5, 4), 2, (3,)),
        "with a prior function": networks.with_prior_function(make, make, 2.0),
    }[kind]
    network: Any = make(KEY)
    images = jnp.asarray(np.random.default_rng(0).random((7, 6, 5, 4)) < 0.3)

    def loss(network, apply):
        return jnp.sum(jnp.sin(apply(network)(images)))

    apart, together = (lambda each: jax.vmap(each)), (lambda each: lambda x: networks.on_batch(each, x))
    np.testing.assert_allclose(together(network)(images), apart(network)(images), rtol=1e-5, atol=1e-6)
    gradients = (eqx.filter_grad(loss)(network, apply) for apply in (apart, together))
    for one, other in zip(*map(jax.tree.leaves, gradients), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
