"""Optimisers: Adam with little arithmetic per weight, or any Optax transformation of a user's own."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, PyTree

from surefoot.errors import UserError, require
from surefoot.registry import import_object, is_import_path

MEAN_DECAY, SQUARE_DECAY = 0.9, 0.999

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
    mean: PyTree
    square: PyTree


def adam(learning_rate: float, *, epsilon: float = 1e-8) -> optax.GradientTransformation:
    """Adam (Kingma and Ba, 2015) as an Optax transformation.

    Optax's own corrects the bias of both moments weight by weight. Here the corrections are two numbers for
    all weights, as in section 2 of that article: one root and one division per weight instead of one root
    and three divisions, which on CPU is most of the time that an update of large layers takes.
    """

    def init(params: PyTree) -> AdamState:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return AdamState(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params))

    def update(gradients: PyTree, state: AdamState, params: PyTree = None) -> tuple[PyTree, AdamState]:
        del params
        steps = state.steps + 1
        mean = _moving_average(state.mean, gradients, MEAN_DECAY)
        square = _moving_average(state.square, jax.tree.map(jnp.square, gradients), SQUARE_DECAY)
        mean_weight, square_weight = (
            1 - decay ** steps.astype(float) for decay in (MEAN_DECAY, SQUARE_DECAY)
        )
        rate = learning_rate * jnp.sqrt(square_weight) / mean_weight
        floor = epsilon * jnp.sqrt(square_weight)

        def change(mean: Any, square: Any) -> Any:
            return -rate.astype(mean.dtype) * mean / (jnp.sqrt(square) + floor.astype(mean.dtype))

        return jax.tree.map(change, mean, square), AdamState(steps, mean, square)

    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]


def _moving_average(average: PyTree, values: PyTree, decay: float) -> PyTree:
    return jax.tree.map(lambda old, new: decay * old + (1 - decay) * new, average, values)
