"""Layers of networks, from one example to another, and how their weights are drawn.

Dense weights are stored [out, in], which on CPU is several times faster than the alternative.
"""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from surefoot.types import RandomKey


class Dense(eqx.Module):
    """A dense (affine) layer; `bias` is None if it has none."""

    weight: Float[Array, "out in"]
    bias: Float[Array, "out"] | None

    def __call__(self, x: Float[Array, "*batch in"]) -> Float[Array, "*batch out"]:
        """Apply the layer to the last axis."""
        # Not `x @ weight.T`: for a single example, XLA on CPU would compute the transpose first.
        if x.ndim == 1:
            y = weight_first(self.weight, x)
        else:
            y = jax.lax.dot_general(x, self.weight, (((x.ndim - 1,), (1,)), ((), ())))
        return y if self.bias is None else y + jnp.broadcast_to(self.bias, y.shape)


def weight_first(weight: Float[Array, "out in"], x: Float[Array, "in"]) -> Float[Array, "out"]:
    """The product of a matrix and a vector, which stays in this order for a batch of vectors.

    XLA on CPU computes `weight . x` for a batch nearly twice as fast as `x . weight`, but changes it into the
    latter to save a transposition, unless there is a barrier behind it. The gradient for `x` is faster as it
    is: with the weight first, which would have to be transposed, training took a third longer.
    """
    return jax.lax.optimization_barrier(jax.lax.dot_general(weight, x, (((1,), (0,)), ((), ()))))


MakeLayer = Callable[[RandomKey, int, int], Dense]
"""A function that draws a layer from a key, its number of inputs and its number of outputs."""


def orthogonal(gain: float = math.sqrt(2)) -> MakeLayer:
    """Initialisation with orthogonal weights times `gain` and zero biases."""
    draw = jax.nn.initializers.orthogonal(gain)

    def layer(key: RandomKey, inputs: int, outputs: int) -> Dense:
        return Dense(draw(key, (outputs, inputs)), jnp.zeros(outputs))

    return layer


def normal(variance: float = 2.0) -> MakeLayer:
    """Initialisation with normal weights and biases, each of variance `variance / inputs`."""

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
    """Sets each unit to zero with probability `rate` and scales the others up; inactive without a key."""

    rate: float = eqx.field(static=True)

    def __call__(self, x: Float[Array, "*shape"], key: RandomKey | None) -> Float[Array, "*shape"]:
        """Apply dropout to every unit independently."""
        if self.rate == 0 or key is None:
            return x
        kept = jax.random.bernoulli(key, 1 - self.rate, x.shape)
        return jnp.where(kept, x / (1 - self.rate), jnp.zeros_like(x))


NO_DROPOUT = Dropout(0.0)
