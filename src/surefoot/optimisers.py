"""Adam, with as little arithmetic per weight as it needs."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, PyTree

MEAN_DECAY, SQUARE_DECAY = 0.9, 0.999


class AdamState(NamedTuple):
    """Adam's moments, by names of our own: checkpoints outlive Optax's."""

    steps: Int[Array, ""]
    mean: PyTree
    square: PyTree


def adam(learning_rate: float, *, epsilon: float = 1e-8) -> optax.GradientTransformation:
    """Adam (Kingma and Ba, 2015) as an Optax transformation.

    Optax's own corrects both moments weight by weight. Here the corrections are two numbers for all, as in
    section 2 of that article: one root and one division per weight instead of one and three, which on CPU is
    what an update of large layers takes.
    """

    def init(params: PyTree) -> AdamState:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return AdamState(jnp.zeros((), jnp.int32), zeros, jax.tree.map(jnp.zeros_like, params))

    def update(gradients: PyTree, state: AdamState, params: PyTree = None) -> tuple[PyTree, AdamState]:
        del params
        steps = state.steps + 1
        mean = _moving(state.mean, gradients, MEAN_DECAY)
        square = _moving(state.square, jax.tree.map(jnp.square, gradients), SQUARE_DECAY)
        seen_of_mean, seen_of_square = (
            1 - decay ** steps.astype(float) for decay in (MEAN_DECAY, SQUARE_DECAY)
        )
        rate = learning_rate * jnp.sqrt(seen_of_square) / seen_of_mean
        floor = epsilon * jnp.sqrt(seen_of_square)

        def change(mean: Any, square: Any) -> Any:
            return -rate.astype(mean.dtype) * mean / (jnp.sqrt(square) + floor.astype(mean.dtype))

        return jax.tree.map(change, mean, square), AdamState(steps, mean, square)

    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]


def _moving(average: PyTree, values: PyTree, decay: float) -> PyTree:
    return jax.tree.map(lambda old, new: decay * old + (1 - decay) * new, average, values)
