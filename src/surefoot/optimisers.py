"""Optimisers: Adam with little arithmetic per weight, or any Optax transformation of a user's own."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Int, PyTree

from surefoot.errors import UserError, require
from surefoot.registry import import_object, is_import_path

MEAN, SQUARE = 0, 1
"""Where each moment of Adam stands on its axis."""
DECAYS = np.array([0.9, 0.999])
"""Their decay at each step."""

ADAM = "adam"
ACCEPTED = "adam, package.module:name, or an Optax transformation"

MakeOptimiser = Callable[[float], optax.GradientTransformation]
"""From a learning rate to an optimiser."""

OptimiserLike = str | optax.GradientTransformation | MakeOptimiser | None
"""A name, an Optax transformation, or a function from a learning rate to one."""


def resolve_optimiser(
    optimiser: Any, learning_rate: float, adam_epsilon: float
) -> optax.GradientTransformation:
    """The optimiser: Adam by default, otherwise what a user gave or named."""
    if optimiser is None or optimiser == ADAM:
        return adam(learning_rate, epsilon=adam_epsilon)
    found = optimiser
    if isinstance(optimiser, str):
        if not is_import_path(optimiser):
            raise UserError(f"optimiser: got {optimiser}, accepted: {ACCEPTED}")
        found = import_object("optimiser", optimiser, ACCEPTED)
    made: Any = found if _is_transformation(found) or not callable(found) else found(learning_rate)
    require("optimiser", type(made).__name__, _is_transformation(made), ACCEPTED)
    return _promoting(made)


def _is_transformation(thing: Any) -> bool:
    return isinstance(thing, optax.GradientTransformation | optax.GradientTransformationExtraArgs)


def _promoting(optimiser: optax.GradientTransformation) -> optax.GradientTransformation:
    """The same optimiser where JAX forbids implicit type promotion, which Optax relies on."""

    def init(params: PyTree) -> Any:
        with jax.numpy_dtype_promotion("standard"):
            # Copy: a donated buffer may not appear twice in a state, and Optax shares some.
            return jax.tree.map(jnp.array, optimiser.init(params))

    def update(gradients: PyTree, state: Any, params: PyTree = None) -> tuple[PyTree, Any]:
        with jax.numpy_dtype_promotion("standard"):
            return optimiser.update(gradients, state, params)

    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]


class AdamState(NamedTuple):
    """Adam's moments, with names of our own: checkpoints must not depend on Optax's."""

    steps: Int[Array, ""]
    moments: PyTree
    """For each array of weights its two moments, mean and square, on an axis before the last."""


def adam(learning_rate: float, *, epsilon: float = 1e-8) -> optax.GradientTransformation:
    """Adam (Kingma and Ba, 2015) as an Optax transformation.

    Optax's own corrects the bias of both moments weight by weight. Here the corrections are two numbers for
    all weights, as in section 2 of that article: one root and one division per weight instead of one root
    and three divisions. Both moments stand in one array, row by row, so that one pass over the gradient, and
    over the weights and anchors that it may be made of, renews both: on CPU, Adam is bound by memory.
    """

    def init(params: PyTree) -> AdamState:
        return AdamState(jnp.zeros((), jnp.int32), jax.tree.map(_no_moments, params))

    def update(gradients: PyTree, state: AdamState, params: PyTree = None) -> tuple[PyTree, AdamState]:
        del params
        steps = state.steps + 1
        moments = jax.tree.map(_renewed, state.moments, gradients)
        mean_weight, square_weight = (1 - decay ** steps.astype(float) for decay in DECAYS.tolist())
        rate = learning_rate * jnp.sqrt(square_weight) / mean_weight
        floor = epsilon * jnp.sqrt(square_weight)

        def change(gradient: Any, moments: Any) -> Any:
            mean, square = (
                jax.lax.index_in_dim(moments, index, _moment_axis(gradient), keepdims=False)
                for index in (MEAN, SQUARE)
            )
            return -rate.astype(mean.dtype) * mean / (jnp.sqrt(square) + floor.astype(mean.dtype))

        return jax.tree.map(change, gradients, moments), AdamState(steps, moments)

    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]


def _moment_axis(weights: Any) -> int:
    """The axis for both moments: before the last, so that a row of each lies together."""
    return max(weights.ndim - 1, 0)


def _no_moments(weights: Any) -> Any:
    axis = _moment_axis(weights)
    return jnp.zeros((*weights.shape[:axis], len(DECAYS), *weights.shape[axis:]), weights.dtype)


def _renewed(moments: Any, gradient: Any) -> Any:
    """Moving averages of the gradient and of its square, as one expression for both."""
    axis = _moment_axis(gradient)
    shape = [len(DECAYS) if each == axis else 1 for each in range(moments.ndim)]
    decay, share = (jnp.asarray(each.reshape(shape), moments.dtype) for each in (DECAYS, 1 - DECAYS))
    is_mean = np.arange(len(DECAYS)).reshape(shape) == MEAN
    both = jnp.broadcast_to(jnp.expand_dims(gradient, axis), moments.shape)
    return decay * moments + share * both * jnp.where(is_mean, jnp.ones_like(both), both)
