"""Architectures: which networks suit an environment's observations, for any shape of outputs.

A network sees floats: a vector, or an image `[height, width, channels]`. Observations are encoded as such on
the way into the network, so that the replay stores them as the environment returned them.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Discrete
from jaxtyping import Array, Float, PyTree, Shaped

from surefoot.errors import UserError, require
from surefoot.layers import orthogonal
from surefoot.networks import features_of, heads, minatar_cnn, minatar_heads, mlp, on_batch
from surefoot.registry import import_object, is_import_path
from surefoot.text import error_line
from surefoot.types import MakeNetwork, Network, NetworkFactory, ObservationSpace, RandomKey

CustomNetwork = Callable[[RandomKey, int], Network]
"""A user's own: from a key and a number of outputs to a module that maps an observation to them."""

DEFAULT_WIDTHS = (128, 128)
MIN_IMAGE_SIDE = 3
"""Rows and columns that the convolution needs."""


class Architecture(NamedTuple):
    """How networks for an environment are built.

    - `network(output_shape, gain=..., dropout=...)`: a maker of networks with these outputs and orthogonal
      weights times `gain`. With dropout, they are called with a key: `network(obs, key=key)`.
    - `heads(count, output_shape, gain=...)`: a maker of networks with several heads of these outputs.
    - `encode(obs)`: an observation as a vector of floats.
    - `example`: shape and type of an observation.
    """

    network: Callable[..., MakeNetwork]
    heads: Callable[..., MakeNetwork]
    encode: Callable[[Array], Float[Array, "inputs"]]
    example: jax.ShapeDtypeStruct

    def factory(self, output_shape: Sequence[int]) -> NetworkFactory:
        """A maker of networks with these outputs, for a posterior."""
        return NetworkFactory(
            partial(self.network, output_shape), self.encode, self.example, tuple(output_shape)
        )


def mlp_architecture(inputs: int, widths: Sequence[int]) -> Architecture:
    """MLPs for vectors; heads share nothing."""

    def network(output_shape: Sequence[int], *, gain: float, dropout: float = 0.0) -> MakeNetwork:
        return mlp(inputs, widths, output_shape, layer=orthogonal(gain), dropout=dropout)

    return _without_sharing(network, (inputs,))


def minatar_architecture(image_shape: Sequence[int]) -> Architecture:
    """The paper's network for MinAtar's images; heads share the convolution."""

    def network(output_shape: Sequence[int], *, gain: float, dropout: float = 0.0) -> MakeNetwork:
        return minatar_cnn(image_shape, output_shape, layer=orthogonal(gain), dropout=dropout)

    def several_heads(count: int, output_shape: Sequence[int], *, gain: float) -> MakeNetwork:
        return minatar_heads(image_shape, count, output_shape, layer=orthogonal(gain))

    return Architecture(network, several_heads, jnp.ravel, _example(image_shape))


def custom_architecture(make: CustomNetwork, input_shape: Sequence[int]) -> Architecture:
    """A user's own networks; heads share nothing, and the network draws its initial weights itself.

    A posterior that uses dropout needs a network that has dropout layers and takes a key.
    """

    def network(output_shape: Sequence[int], *, gain: float, dropout: float = 0.0) -> MakeNetwork:
        del gain
        outputs = int(np.prod(output_shape))
        _try_out(make, outputs, input_shape, with_key=dropout > 0)
        return lambda key: ArrayNetwork.of(make(key, outputs), output_shape)

    return _without_sharing(network, input_shape)


def _without_sharing(network: Callable[..., MakeNetwork], input_shape: Sequence[int]) -> Architecture:
    def several_heads(count: int, output_shape: Sequence[int], *, gain: float) -> MakeNetwork:
        return heads(network(output_shape, gain=gain), count)

    return Architecture(network, several_heads, jnp.ravel, _example(input_shape))


def _example(shape: Sequence[int], dtype: Any = float) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(tuple(shape), jax.dtypes.canonicalize_dtype(dtype))


class ArrayNetwork(eqx.Module):
    """A network whose only leaves are arrays, as the state of a compiled loop must be.

    What else a module holds, activation functions for instance, becomes static.
    """

    arrays: PyTree
    rest: PyTree = eqx.field(static=True)
    output_shape: tuple[int, ...] = eqx.field(static=True)

    @classmethod
    def of(cls, network: Network, output_shape: Sequence[int]) -> "ArrayNetwork":
        """Take a network apart."""
        arrays, rest = eqx.partition(network, eqx.is_array)
        return cls(arrays, rest, tuple(output_shape))

    def __call__(self, x: Array, key: RandomKey | None = None) -> Float[Array, "..."]:
        """Put it together and call it; with a key only if there is one."""
        network: Any = eqx.combine(self.arrays, self.rest)
        return network(x, **_key_argument(key)).reshape(self.output_shape)


def _key_argument(key: RandomKey | None) -> dict[str, RandomKey]:
    return {} if key is None else {"key": key}


def _try_out(make: CustomNetwork, outputs: int, input_shape: Sequence[int], *, with_key: bool) -> None:
    """Refuse a network that does not map an observation to the outputs, before anything is built on it."""

    def call(key: RandomKey, obs: Array) -> Array:
        network: Any = make(key, outputs)
        return network(obs, **_key_argument(key if with_key else None))

    example = jax.ShapeDtypeStruct(tuple(input_shape), float)
    wanted = f"a module that maps an observation {tuple(input_shape)} to ({outputs},)"
    if with_key:
        wanted += " and takes key= for its dropout"
    try:
        found = eqx.filter_eval_shape(call, jax.random.key(0), example)
    except Exception as error:
        # Whatever a stranger's code raises is the user's to read.
        raise UserError(f"network: it failed with {error_line(error)}, accepted: {wanted}") from error
    if getattr(found, "shape", None) != (outputs,):
        raise UserError(f"network: got outputs {getattr(found, 'shape', found)}, accepted: {wanted}")
    if with_key and not _is_random(make, outputs, input_shape):
        raise UserError(f"network: its outputs do not depend on the key, accepted: {wanted}")


def _is_random(make: CustomNetwork, outputs: int, input_shape: Sequence[int]) -> bool:
    """Whether a network's outputs differ from key to key, as dropout makes them."""
    keys = jax.random.split(jax.random.key(0), 16)
    network: Any = make(keys[0], outputs)
    obs = jax.random.normal(keys[0], tuple(input_shape))
    found = eqx.filter_vmap(lambda key: network(obs, key=key))(keys)
    return bool(np.any(np.asarray(found) != np.asarray(found)[0]))


class Encoded(eqx.Module):
    """A network behind an encoding of observations."""

    network: Network
    encode: Callable[[Array], Array] = eqx.field(static=True)

    def __call__(self, obs: Shaped[Array, "..."], key: RandomKey | None = None) -> Float[Array, "..."]:
        """Outputs for one observation as the environment returns it."""
        network: Any = self.network
        return network(self.encode(obs), **_key_argument(key))

    def on_batch(self, obs: Shaped[Array, "B ..."]) -> Float[Array, "B ..."]:
        """Outputs for a batch of observations."""
        return on_batch(self.network, jax.vmap(self.encode)(obs))

    def features(self, obs: Shaped[Array, "..."]) -> Float[Array, "features"]:
        """The last hidden layer, or the encoded observation of a network that does not expose it."""
        return features_of(self.network, self.encode(obs))


class Encoding(NamedTuple):
    """How an observation becomes the input of a network, and the shape of that input."""

    encode: Callable[[Array], Array]
    shape: tuple[int, ...]


def encoding_of(space: ObservationSpace) -> Encoding:
    """Discrete: one-hot. Images and grids: channels last, bytes from 0 to 1. All else: a vector."""
    if isinstance(space, Discrete):
        count, start = int(space.n), int(space.start)
        return Encoding(lambda obs: jax.nn.one_hot(obs - start, count), (count,))
    shape = image_shape(space) or (int(np.prod(space.shape)),)
    scale = 255.0 if space.dtype == np.uint8 and np.all(space.high == 255) else 1.0
    return Encoding(lambda obs: obs.astype(float).reshape(shape) / scale, shape)


def image_shape(space: ObservationSpace) -> tuple[int, ...] | None:
    """Height, width and channels of a grid or an image; None for all else."""
    shape = space.shape or ()
    if len(shape) == 2:
        shape = (*shape, 1)
    return shape if len(shape) == 3 and min(shape[:2]) >= MIN_IMAGE_SIDE else None


def architecture_for(space: ObservationSpace, network: str | CustomNetwork | None = None) -> Architecture:
    """Networks for these observations: "mlp:64,64", "minatar", a user's own function, or the default.

    A user's own may also be named: `package.module:function`.
    """
    as_floats, shape = encoding_of(space)
    encode = as_floats
    if network is None:
        network = default_network(space)
    if isinstance(network, str) and is_import_path(network) and not network.startswith("mlp:"):
        network = _imported(network)
    if not isinstance(network, str):
        inner = custom_architecture(network, shape)
    elif network == "minatar" and len(shape) == 3:
        inner = minatar_architecture(shape)
        if space.dtype == bool:
            # The network makes floats of booleans itself, after it has copied them, which is faster.
            encode = partial(jnp.reshape, shape=shape)
    elif network.startswith("mlp:"):
        encode, shape = (lambda obs: as_floats(obs).reshape(-1)), (int(np.prod(shape)),)
        inner = mlp_architecture(shape[0], _widths(network))
    else:
        raise UserError(f"network: got {network} for observations {shape}, accepted: {ACCEPTED}")
    return _encoded(encode, as_floats, inner, _example(space.shape or (), space.dtype))


ACCEPTED = "mlp:WIDTHS (such as mlp:64,64), minatar (for images), package.module:function, or a function"


def _imported(path: str) -> CustomNetwork:
    found = import_object("network", path, ACCEPTED)
    require("network", f"{path}, which is no function", callable(found), ACCEPTED)
    return found


def default_network(space: ObservationSpace) -> str:
    """The paper's network for images and grids, a small MLP for all else."""
    return "minatar" if image_shape(space) else "mlp:" + ",".join(map(str, DEFAULT_WIDTHS))


def _widths(spec: str) -> tuple[int, ...]:
    words = spec.removeprefix("mlp:").split(",")
    if not all(word.strip().isdigit() and int(word) > 0 for word in words):
        raise UserError(f"network: got {spec}, accepted: mlp: and widths from 1, such as mlp:64,64")
    return tuple(map(int, words))


def _encoded(
    encode: Callable[[Array], Array],
    as_floats: Callable[[Array], Array],
    inner: Architecture,
    example: jax.ShapeDtypeStruct,
) -> Architecture:
    def encoded(make: Callable[..., MakeNetwork]) -> Callable[..., MakeNetwork]:
        def network(*shape: Any, **options: Any) -> MakeNetwork:
            plain = make(*shape, **options)
            return lambda key: Encoded(plain(key), encode)

        return network

    return Architecture(
        encoded(inner.network), encoded(inner.heads), lambda obs: as_floats(obs).reshape(-1), example
    )
