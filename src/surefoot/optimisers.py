"""Optax's optimisers, made to run where JAX promotes no types by itself."""

from typing import Any, NamedTuple

import jax
import optax
from jaxtyping import Array, Int, PyTree


class AdamState(NamedTuple):
    """Adam's moments, by names of our own: checkpoints outlive Optax's."""

    steps: Int[Array, ""]
    mean: PyTree
    square: PyTree


def adam(learning_rate: float, *, epsilon: float = 1e-8) -> optax.GradientTransformation:
    """Adam. Optax mixes integers and floats inside, which strict type promotion forbids."""
    moments = optax.scale_by_adam(eps=epsilon)

    def init(params: PyTree) -> AdamState:
        return _ours(moments.init(params))

    def update(updates: PyTree, state: AdamState, params: PyTree = None) -> tuple[PyTree, AdamState]:
        with jax.numpy_dtype_promotion("standard"):
            theirs = optax.ScaleByAdamState(state.steps, state.mean, state.square)
            directions, after = moments.update(updates, theirs, params)
            return jax.tree.map(lambda each: -learning_rate * each, directions), _ours(after)

    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]


def _ours(state: Any) -> AdamState:
    return AdamState(state.count, state.mu, state.nu)
