"""Networks: Equinox modules from one example to outputs of any shape; `jax.vmap` makes batches of them.

The convolution is a matrix product with image patches, which on CPU is several times faster than XLA's own.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree, Shaped

from surefoot.layers import NO_DROPOUT, Dense, Dropout, MakeLayer, orthogonal
from surefoot.types import MakeNetwork, Network, RandomKey, RandomKeys

Activation = Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]]


def _split(key: RandomKey | None, count: int) -> list[RandomKey | None]:
    return [None] * count if key is None else list(jax.random.split(key, count))


class MLP(eqx.Module):
    """A multilayer perceptron, with dropout after each hidden layer if it is called with a key."""

    layers: tuple[Dense, ...]
    activation: Activation = eqx.field(static=True)
    output_shape: tuple[int, ...] = eqx.field(static=True)
    dropout: Dropout = NO_DROPOUT

    def __call__(self, x: Float[Array, "in"], key: RandomKey | None = None) -> Float[Array, "..."]:
        """Outputs for one example, in `output_shape`."""
        return self.layers[-1](self.features(x, key)).reshape(self.output_shape)

    def features(self, x: Float[Array, "in"], key: RandomKey | None = None) -> Float[Array, "features"]:
        """The last hidden layer."""
        hidden = self.layers[:-1]
        for layer, layer_key in zip(hidden, _split(key, len(hidden)), strict=True):
            x = self.dropout(self.activation(layer(x)), layer_key)
        return x


def mlp(
    inputs: int,
    widths: Sequence[int],
    output_shape: Sequence[int],
    *,
    layer: MakeLayer | None = None,
    activation: Activation = jax.nn.relu,
    output_bias: bool = True,
    dropout: float = 0.0,
) -> MakeNetwork:
    """A function that draws MLPs with hidden layers of these widths; orthogonal weights by default."""
    make_layer = layer or orthogonal()
    sizes = [inputs, *widths, math.prod(output_shape)]

    def make(key: RandomKey) -> MLP:
        keys = jax.random.split(key, len(sizes) - 1)
        layers = [make_layer(*each) for each in zip(keys, sizes[:-1], sizes[1:], strict=True)]
        if not output_bias:
            layers[-1] = Dense(layers[-1].weight, None)
        return MLP(tuple(layers), activation, tuple(output_shape), Dropout(dropout))

    return make


class MinAtarCNN(eqx.Module):
    """The MinAtar network: 3x3 convolution with 16 channels, dense layer of 128, linear outputs (appendix D).

    ReLU stands between the layers. The convolution is a dense layer on 3x3 patches, in which the channel
    varies fastest.
    """

    convolution: Dense
    hidden: Dense
    output: Dense
    output_shape: tuple[int, ...] = eqx.field(static=True)
    dropout: Dropout = NO_DROPOUT

    def __call__(
        self, image: Shaped[Array, "height width channels"], key: RandomKey | None = None
    ) -> Float[Array, "..."]:
        """Outputs for one image of floats, booleans or bytes, in `output_shape`."""
        return self.output(self.features(image, key)).reshape(self.output_shape)

    def on_batch(self, images: Shaped[Array, "B height width channels"]) -> Float[Array, "B ..."]:
        """Outputs for a batch of images, without dropout."""

        def outputs(convolved: Float[Array, "features"]) -> Float[Array, "..."]:
            return self.output(jax.nn.relu(self.hidden(convolved))).reshape(self.output_shape)

        return jax.vmap(outputs)(_convolved_batch(self.convolution, images))

    def features(
        self, image: Shaped[Array, "height width channels"], key: RandomKey | None = None
    ) -> Float[Array, "features"]:
        """The last hidden layer."""
        convolution_key, hidden_key = _split(key, 2)
        convolved = self.dropout(_convolved(self.convolution, image), convolution_key)
        return self.dropout(jax.nn.relu(self.hidden(convolved)), hidden_key)


def minatar_cnn(
    image_shape: Sequence[int],
    output_shape: Sequence[int],
    *,
    layer: MakeLayer | None = None,
    dropout: float = 0.0,
) -> Callable[[RandomKey], MinAtarCNN]:
    """A function that draws the paper's MinAtar network; by default, orthogonal weights with gain sqrt 2."""
    make_layer = layer or orthogonal()
    height, width, channels = image_shape
    channels_out, hidden = 16, 128
    features = (height - 2) * (width - 2) * channels_out

    def make(key: RandomKey) -> MinAtarCNN:
        convolution_key, hidden_key, output_key = jax.random.split(key, 3)
        return MinAtarCNN(
            convolution=make_layer(convolution_key, 9 * channels, channels_out),
            hidden=make_layer(hidden_key, features, hidden),
            output=make_layer(output_key, hidden, math.prod(output_shape)),
            output_shape=tuple(output_shape),
            dropout=Dropout(dropout),
        )

    return make


WORDS = {2: jnp.int16, 4: jnp.int32}
"""Integers of so many bytes."""


def patches_3x3(
    image: Shaped[Array, "height width channels"],
) -> Shaped[Array, "rows columns 9*channels"]:
    """All 3x3 windows of an image, by the positions of their upper left corners."""
    rows, columns = image.shape[0] - 2, image.shape[1] - 2
    windows = [image[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    return jnp.concatenate(windows, axis=-1)


def _convolved(convolution: Dense, image: Shaped[Array, "height width channels"]) -> Float[Array, "features"]:
    """A 3x3 convolution of an image and ReLU, as a vector."""
    return _convolved_batch(convolution, image[None])[0]


def _convolved_batch(
    convolution: Dense, images: Shaped[Array, "B height width channels"]
) -> Float[Array, "B features"]:
    """A 3x3 convolution of each image and ReLU, as vectors.

    The positions of all images are one long axis: with two, XLA on CPU would transpose the gradient of the
    outputs before it computes that of the weight, which takes as long as the product itself. The bias is the
    weight of an input that is one: added afterwards, it would be looked up for every single number, forwards
    and backwards.
    """
    weight, bias = convolution.weight, convolution.bias
    inputs = jax.vmap(lambda image: _patches_and_one(image, weight.dtype))(images)
    if bias is None:
        bias = jnp.zeros(weight.shape[:1], weight.dtype)
    missing = inputs.shape[-1] - weight.shape[1] - 1
    weights = jnp.concatenate([weight, jnp.pad(bias[:, None], ((0, 0), (0, missing)))], axis=1)
    outputs = Dense(weights, None)(inputs.reshape(-1, inputs.shape[-1]))
    return jax.nn.relu(outputs).reshape(len(images), -1)


def _patches_and_one(
    image: Shaped[Array, "height width channels"], dtype: Any
) -> Float[Array, "positions inputs"]:
    """The patches of an image of floats, booleans or bytes as floats, each followed by a one and zeros.

    XLA on CPU copies one number after the other, so patches of booleans are made of words: one number for two
    or four channels, where their count allows.
    """
    pixels = _joined_channels(image) if image.dtype == bool else image.astype(dtype)
    patches = patches_3x3(pixels)
    # A word that is one has a first byte that is one, and zeros in the others.
    inputs = jnp.concatenate([patches, jnp.ones((*patches.shape[:2], 1), patches.dtype)], axis=-1)
    if inputs.dtype in (jnp.int16, jnp.int32):
        inputs = jax.lax.bitcast_convert_type(inputs, jnp.int8)
    return inputs.reshape(patches.shape[0] * patches.shape[1], -1).astype(dtype)


def _joined_channels(image: Bool[Array, "height width channels"]) -> Int[Array, "height width words"]:
    """An image of booleans as words of one, two or four bytes, one byte for each channel."""
    channels = image.shape[-1]
    size = math.gcd(channels, 4)
    as_bytes = image.astype(jnp.int8).reshape(*image.shape[:2], channels // size, size)
    return as_bytes[..., 0] if size == 1 else jax.lax.bitcast_convert_type(as_bytes, WORDS[size])


def on_batch(network: Any, inputs: Array) -> Float[Array, "B ..."]:
    """Outputs of a network for a batch of inputs.

    A network may have a method `on_batch` for what is faster than one example after the other under `vmap`.
    """
    return network.on_batch(inputs) if hasattr(network, "on_batch") else jax.vmap(network)(inputs)


def features_of(network: Any, x: Array) -> Float[Array, "features"]:
    """The last hidden layer of a network that has a method `features`; otherwise the input as a vector."""
    return network.features(x) if hasattr(network, "features") else x.astype(float).reshape(-1)


class Fixed(eqx.Module):
    """A part of a network that training does not change."""

    network: Any

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """Outputs of the part."""
        return self.network(*inputs, **options)


def is_trained(params: PyTree) -> PyTree:
    """Which leaves training changes, for `equinox.partition`: arrays of floats outside of a `Fixed` part."""
    return jax.tree.map(
        lambda node: False if isinstance(node, Fixed) else eqx.is_inexact_array(node),
        params,
        is_leaf=lambda node: isinstance(node, Fixed),
    )


class WithPriorFunction(eqx.Module):
    """The sum of a trained network and a fixed one, its prior function (Osband et al., 2018)."""

    trained: Network
    prior: Fixed
    scale: float = eqx.field(static=True)

    def __call__(self, x: Array) -> Float[Array, "..."]:
        """Outputs for one example."""
        trained: Any = self.trained
        return trained(x) + self.scale * self.prior(x)

    def on_batch(self, inputs: Array) -> Float[Array, "B ..."]:
        """Outputs for a batch of inputs."""
        return on_batch(self.trained, inputs) + self.scale * on_batch(self.prior.network, inputs)


def with_prior_function(make: MakeNetwork, make_prior: MakeNetwork, scale: float) -> MakeNetwork:
    """A function that draws trained networks, each with a prior function of its own."""

    def draw(key: RandomKey) -> WithPriorFunction:
        trained_key, prior_key = jax.random.split(key)
        return WithPriorFunction(make(trained_key), Fixed(make_prior(prior_key)), scale)

    return draw


def draw_stacked(make: MakeNetwork, keys: RandomKeys) -> Any:
    """A network from each key, as one module whose arrays have an axis for the networks in front.

    They are drawn in a loop, so that it compiles to one network's size. Under `vmap`, drawing orthogonal
    weights becomes a batched QR decomposition, which sometimes never returns on a CPU with two cores
    (jaxlib 0.10.1).
    """
    arrays = jax.lax.map(lambda key: eqx.filter(make(key), eqx.is_array), keys)
    static = eqx.filter(eqx.filter_eval_shape(make, keys[0]), _is_shape, inverse=True)
    return eqx.combine(arrays, static)


def draw_each(make: MakeNetwork, keys: RandomKeys) -> tuple[Any, ...]:
    """A network from each key, drawn in a loop, which compiles faster than one after the other."""
    stacked = draw_stacked(make, keys)
    arrays, static = eqx.partition(stacked, eqx.is_array)
    return tuple(
        eqx.combine(jax.tree.map(lambda leaf, k=k: leaf[k], arrays), static) for k in range(len(keys))
    )


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, jax.ShapeDtypeStruct)


class Heads(eqx.Module):
    """Several independent networks of one architecture, from one example to `[heads, ...]`."""

    stacked: eqx.Module

    def __call__(self, x: Array) -> Float[Array, "heads ..."]:
        """Outputs of all heads."""
        return eqx.filter_vmap(lambda network: network(x))(self.stacked)


def heads(make: MakeNetwork, count: int) -> MakeNetwork:
    """A function that draws `count` independent networks as one module."""
    return lambda key: Heads(draw_stacked(make, jax.random.split(key, count)))


class MinAtarHeads(eqx.Module):
    """The MinAtar network with one convolution shared by several heads (Bootstrapped DQN).

    The hidden layers of all heads are computed as one dense layer: a single large product.
    """

    convolution: Dense
    hidden: Dense
    output: Float[Array, "heads outputs hidden"]
    output_bias: Float[Array, "heads outputs"]
    output_shape: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, image: Shaped[Array, "height width channels"]) -> Float[Array, "heads ..."]:
        """Outputs of all heads for one image."""
        return self._outputs(_convolved(self.convolution, image))

    def on_batch(self, images: Shaped[Array, "B height width channels"]) -> Float[Array, "B heads ..."]:
        """Outputs of all heads for a batch of images."""
        return jax.vmap(self._outputs)(_convolved_batch(self.convolution, images))

    def _outputs(self, convolved: Float[Array, "features"]) -> Float[Array, "heads ..."]:
        hidden = jax.nn.relu(self.hidden(convolved)).reshape(self.output.shape[0], -1)
        values = jnp.einsum("koh,kh->ko", self.output, hidden) + self.output_bias
        return values.reshape(-1, *self.output_shape)


def minatar_heads(
    image_shape: Sequence[int],
    count: int,
    output_shape: Sequence[int],
    *,
    layer: MakeLayer | None = None,
) -> MakeNetwork:
    """A function that draws MinAtar networks with `count` heads, each drawn as in a separate network."""
    make_network = minatar_cnn(image_shape, output_shape, layer=layer)

    def make(key: RandomKey) -> MinAtarHeads:
        networks = draw_stacked(make_network, jax.random.split(key, count))
        hidden, output = networks.hidden, networks.output
        return MinAtarHeads(
            convolution=jax.tree.map(lambda leaf: leaf[0], networks.convolution),
            hidden=Dense(hidden.weight.reshape(-1, hidden.weight.shape[-1]), _bias_of(hidden).reshape(-1)),
            output=output.weight,
            output_bias=_bias_of(output),
            output_shape=tuple(output_shape),
        )

    return make


def _bias_of(layer: Dense) -> Float[Array, "heads out"]:
    return jnp.zeros(layer.weight.shape[:-1]) if layer.bias is None else layer.bias
