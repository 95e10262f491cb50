"""Networks: one example in, outputs of any shape out; batches through `jax.vmap`.

Dense weights are stored [out, in], and the convolution is a product with image patches: on CPU both
are several times faster than the alternatives.
"""

import math
from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from surefoot.types import MakeNetwork, RandomKey

Activation = Callable[[Float[Array, "*shape"]], Float[Array, "*shape"]]


class Dense(eqx.Module):
    """An affine map. `bias` is None where the layer has none."""

    weight: Float[Array, "out in"]
    bias: Float[Array, "out"] | None

    def __call__(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch out"]:
        """Apply to the last axis."""
        # Not `x @ weight.T`: for a single example XLA on CPU would write out the transpose first.
        y = jax.lax.dot_general(x, self.weight, (((x.ndim - 1,), (1,)), ((), ())))
        return y if self.bias is None else y + jnp.broadcast_to(self.bias, y.shape)


MakeLayer = Callable[[RandomKey, int, int], Dense]
"""Draws a layer from a key, its number of inputs and its number of outputs."""


def orthogonal(gain: float = math.sqrt(2)) -> MakeLayer:
    """Orthogonal weights times `gain`, zero biases."""
    draw = jax.nn.initializers.orthogonal(gain)

    def layer(key: RandomKey, inputs: int, outputs: int) -> Dense:
        return Dense(draw(key, (outputs, inputs)), jnp.zeros(outputs))

    return layer


def normal(variance: float = 2.0) -> MakeLayer:
    """Normal weights and biases, each of variance `variance / inputs`."""

    def layer(key: RandomKey, inputs: int, outputs: int) -> Dense:
        scale = normal_scale(variance, inputs)
        weight_key, bias_key = jax.random.split(key)
        return Dense(
            scale * jax.random.normal(weight_key, (outputs, inputs)),
            scale * jax.random.normal(bias_key, (outputs,)),
        )

    return layer


def normal_scale(variance: float, inputs: int) -> float:
    """Standard deviation of each weight and bias that `normal` draws."""
    return math.sqrt(variance / inputs)


class Dropout(eqx.Module):
    """Sets each unit to zero with probability `rate`, and scales the others up; nothing without a key."""

    rate: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "*shape"], key: RandomKey | None) -> Float[Array, "*shape"]:
        """Apply to every unit independently."""
        if self.rate == 0 or key is None:
            return x
        kept = jax.random.bernoulli(key, 1 - self.rate, x.shape)
        return jnp.where(kept, x / (1 - self.rate), jnp.zeros_like(x))


NO_DROPOUT = Dropout(0.0)


def _split(key: RandomKey | None, count: int) -> list[RandomKey | None]:
    return [None] * count if key is None else list(jax.random.split(key, count))


class MLP(eqx.Module):
    """Dense layers with an activation between them, and dropout after each hidden one if there is a key."""

    layers: tuple[Dense, ...]
    activation: Activation = eqx.field(static=True)
    output_shape: tuple[int, ...] = eqx.field(static=True)
    dropout: Dropout = NO_DROPOUT

    def __call__(self, x: Float[Array, "in"], key: RandomKey | None = None) -> Float[Array, "..."]:
        """Outputs for one example, in `output_shape`."""
        *hidden, last = self.layers
        for layer, layer_key in zip(hidden, _split(key, len(hidden)), strict=True):
            x = self.dropout(self.activation(layer(x)), layer_key)
        return last(x).reshape(self.output_shape)


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
    """A maker of MLPs with hidden layers of these widths; orthogonal weights by default."""
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
    """3x3 convolution with 16 channels, dense 128, linear; ReLU between (appendix D of the paper).

    The convolution's weights are a dense layer over 3x3 patches, channels varying fastest.
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
        features_key, hidden_key = _split(key, 2)
        patches = patches_3x3(image.astype(self.convolution.weight.dtype))
        features = self.dropout(jax.nn.relu(self.convolution(patches)).reshape(-1), features_key)
        hidden = self.dropout(jax.nn.relu(self.hidden(features)), hidden_key)
        return self.output(hidden).reshape(self.output_shape)


def minatar_cnn(
    image_shape: Sequence[int],
    output_shape: Sequence[int],
    *,
    layer: MakeLayer | None = None,
    dropout: float = 0.0,
) -> Callable[[RandomKey], MinAtarCNN]:
    """A maker of the paper's MinAtar network; orthogonal weights, gain sqrt 2, by default."""
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


def patches_3x3(
    image: Float[Array, "height width channels"],
) -> Float[Array, "positions 9*channels"]:
    """Every 3x3 window of the image as a row, top left to bottom right."""
    rows, columns, channels = image.shape[0] - 2, image.shape[1] - 2, image.shape[2]
    windows = [image[i : i + rows, j : j + columns] for i in range(3) for j in range(3)]
    return jnp.concatenate(windows, axis=-1).reshape(rows * columns, 9 * channels)


class Heads(eqx.Module):
    """Several networks of one form side by side: one example in, `[heads, ...]` out."""

    stacked: eqx.Module

    def __call__(self, x: Array) -> Float[Array, "heads ..."]:
        """Outputs of every head."""
        return eqx.filter_vmap(lambda network: network(x))(self.stacked)


def heads(make: MakeNetwork, count: int) -> MakeNetwork:
    """A maker of `count` independent networks as one."""

    def stacked(key: RandomKey) -> Heads:
        # One after the other: under `vmap`, drawing orthogonal weights becomes a batched QR decomposition,
        # which sometimes never returns on a CPU with two cores (jaxlib 0.10.1).
        each = [make(each_key) for each_key in jax.random.split(key, count)]
        arrays = [eqx.filter(network, eqx.is_array) for network in each]
        stacked_arrays = jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays)
        return Heads(eqx.combine(stacked_arrays, eqx.filter(each[0], eqx.is_array, inverse=True)))

    return stacked


class MinAtarHeads(eqx.Module):
    """The MinAtar network with its convolution shared by several heads (Bootstrapped DQN).

    The heads' hidden layers are one dense layer: a single large product.
    """

    convolution: Dense
    hidden: Dense
    output: Float[Array, "heads outputs hidden"]
    output_bias: Float[Array, "heads outputs"]
    output_shape: tuple[int, ...] = eqx.field(static=True)

    def __call__(self, image: Shaped[Array, "height width channels"]) -> Float[Array, "heads ..."]:
        """Outputs of every head for one image."""
        patches = patches_3x3(image.astype(self.convolution.weight.dtype))
        features = jax.nn.relu(self.convolution(patches)).reshape(-1)
        hidden = jax.nn.relu(self.hidden(features)).reshape(self.output.shape[0], -1)
        values = jnp.einsum("koh,kh->ko", self.output, hidden) + self.output_bias
        return values.reshape(-1, *self.output_shape)


def minatar_heads(
    image_shape: Sequence[int],
    count: int,
    output_shape: Sequence[int],
    *,
    layer: MakeLayer | None = None,
) -> MakeNetwork:
    """A maker of MinAtar networks with `count` heads, each head's layers drawn as a network of its own."""
    one = minatar_cnn(image_shape, output_shape, layer=layer)

    def make(key: RandomKey) -> MinAtarHeads:
        each = [one(each_key) for each_key in jax.random.split(key, count)]
        return MinAtarHeads(
            convolution=each[0].convolution,
            hidden=Dense(
                jnp.concatenate([network.hidden.weight for network in each]),
                jnp.concatenate([_bias_of(network.hidden) for network in each]),
            ),
            output=jnp.stack([network.output.weight for network in each]),
            output_bias=jnp.stack([_bias_of(network.output) for network in each]),
            output_shape=tuple(output_shape),
        )

    return make


def _bias_of(layer: Dense) -> Float[Array, "out"]:
    return jnp.zeros(layer.weight.shape[0]) if layer.bias is None else layer.bias
