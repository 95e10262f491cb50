"""Architectures: networks that suit an environment's observations, whatever an agent wants of them.

A network sees floats: a vector, or an image `[height, width, channels]`. What an environment shows is turned
into that on the way in, so that replay holds observations as they came.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np
from gymnasium.spaces import Discrete
from jaxtyping import Array, Float, PyTree, Shaped

from surefoot.networks import heads, minatar_cnn, minatar_heads, mlp, orthogonal
from surefoot.types import MakeNetwork, Network, Observations, RandomKey, UserError, one_line

CustomNetwork = Callable[[RandomKey, int], Network]
"""A user's own: from a key and a number of outputs to a module that maps an observation to them."""

DEFAULT_WIDTHS = (128, 128)
SMALLEST_IMAGE = 3
"""Rows and columns that the convolution needs."""


class Architecture(NamedTuple):
    """How networks for an environment are built.

    - `network(output_shape, gain)`: a maker of networks with these outputs, orthogonal weights times `gain`.
    - `heads(count, output_shape, gain)`: a maker of networks with several heads of these outputs.
    """

    network: Callable[[Sequence[int], float], MakeNetwork]
    heads: Callable[[int, Sequence[int], float], MakeNetwork]


def mlp_architecture(inputs: int, widths: Sequence[int]) -> Architecture:
    """MLPs for vectors; heads share nothing."""
    return _without_sharing(lambda shape, gain: mlp(inputs, widths, shape, layer=orthogonal(gain)))


def minatar_architecture(image_shape: Sequence[int]) -> Architecture:
    """The paper's network for MinAtar's images; heads share the convolution."""
    return Architecture(
        lambda shape, gain: minatar_cnn(image_shape, shape, layer=orthogonal(gain)),
        lambda count, shape, gain: minatar_heads(image_shape, count, shape, layer=orthogonal(gain)),
    )


def custom_architecture(make: CustomNetwork, input_shape: Sequence[int]) -> Architecture:
    """A user's own networks; heads share nothing, and how weights begin is the network's own business."""

    def network(output_shape: Sequence[int], gain: float) -> MakeNetwork:
        del gain
        outputs = int(np.prod(output_shape))
        _try_out(make, outputs, input_shape)
        return lambda key: OfArrays.of(make(key, outputs), output_shape)

    return _without_sharing(network)


def _without_sharing(network: Callable[[Sequence[int], float], MakeNetwork]) -> Architecture:
    return Architecture(network, lambda count, shape, gain: heads(network(shape, gain), count))


class OfArrays(eqx.Module):
    """A network as arrays alone, so that it can be the state of a compiled loop, with outputs in shape.

    Whatever else a module holds, activation functions for instance, is kept aside.
    """

    arrays: PyTree
    rest: PyTree = eqx.field(static=True)
    output_shape: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, network: Network, output_shape: Sequence[int]) -> "OfArrays":
        """Take a network apart."""
        arrays, rest = eqx.partition(network, eqx.is_array)
        return cls(arrays, rest, tuple(output_shape))

    def __call__(self, x: Array) -> Float[Array, "..."]:
        """Put it together and call it."""
        network: Any = eqx.combine(self.arrays, self.rest)
        return network(x).reshape(self.output_shape)


def _try_out(make: CustomNetwork, outputs: int, input_shape: Sequence[int]) -> None:
    """Refuse a network that does not do what it must, before anything is built on it."""

    def call(key: RandomKey, obs: Array) -> Array:
        network: Any = make(key, outputs)
        return network(obs)

    example = jax.ShapeDtypeStruct(tuple(input_shape), float)
    wanted = f"a module that maps an observation {tuple(input_shape)} to ({outputs},)"
    try:
        found = eqx.filter_eval_shape(call, jax.random.key(0), example)
    except Exception as error:
        # Whatever a stranger's code raises is the user's to read.
        raise UserError(f"network: it failed with {one_line(error)}, accepted: {wanted}") from error
    if getattr(found, "shape", None) != (outputs,):
        raise UserError(f"network: got outputs {getattr(found, 'shape', found)}, accepted: {wanted}")


class Encoded(eqx.Module):
    """A network behind an encoding of observations."""

    network: Network
    encode: Callable[[Array], Array] = eqx.field(static=True)

    def __call__(self, obs: Shaped[Array, "..."]) -> Float[Array, "..."]:
        """Outputs for one observation as the environment gives it."""
        network: Any = self.network
        return network(self.encode(obs))


class Encoding(NamedTuple):
    """What a network sees of an observation, and in which shape."""

    encode: Callable[[Array], Array]
    shape: tuple[int, ...]


def encoding_of(space: Observations) -> Encoding:
    """Discrete: one-hot. Images and grids: channels last, bytes from 0 to 1. All else: a vector."""
    if isinstance(space, Discrete):
        count, start = int(space.n), int(space.start)
        return Encoding(lambda obs: jax.nn.one_hot(obs - start, count), (count,))
    shape = image_shape(space) or (int(np.prod(space.shape)),)
    scale = 255.0 if space.dtype == np.uint8 and np.all(space.high == 255) else 1.0
    return Encoding(lambda obs: obs.astype(float).reshape(shape) / scale, shape)


def image_shape(space: Observations) -> tuple[int, ...] | None:
    """Height, width and channels of a grid or an image; None for all else."""
    shape = space.shape or ()
    if len(shape) == 2:
        shape = (*shape, 1)
    return shape if len(shape) == 3 and min(shape[:2]) >= SMALLEST_IMAGE else None


def architecture_for(space: Observations, network: str | CustomNetwork | None = None) -> Architecture:
    """Networks for these observations: "mlp:64,64", "minatar", a user's own, or what suits them."""
    encode, shape = encoding_of(space)
    if network is None:
        network = default_network(space)
    if not isinstance(network, str):
        inner = custom_architecture(network, shape)
    elif network == "minatar" and len(shape) == 3:
        inner = minatar_architecture(shape)
    elif network.startswith("mlp:"):
        flat = encode
        encode, shape = (lambda obs: flat(obs).reshape(-1)), (int(np.prod(shape)),)
        inner = mlp_architecture(shape[0], _widths(network))
    else:
        accepted = "mlp:WIDTHS (such as mlp:64,64), minatar (for images), or in Python a function"
        raise UserError(f"network: got {network} for observations {shape}, accepted: {accepted}")
    return _behind(encode, inner)


def default_network(space: Observations) -> str:
    """The paper's network for images and grids, a small MLP for all else."""
    return "minatar" if image_shape(space) else "mlp:" + ",".join(map(str, DEFAULT_WIDTHS))


def _widths(spec: str) -> tuple[int, ...]:
    words = spec.removeprefix("mlp:").split(",")
    if not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise UserError(f"network: got {spec}, accepted: mlp: and widths from 1, such as mlp:64,64")
    return tuple(map(int, words))


def _behind(encode: Callable[[Array], Array], inner: Architecture) -> Architecture:
    def encoded(make: MakeNetwork) -> MakeNetwork:
        return lambda key: Encoded(make(key), encode)

    return Architecture(
        lambda shape, gain: encoded(inner.network(shape, gain)),
        lambda count, shape, gain: encoded(inner.heads(count, shape, gain)),
    )
