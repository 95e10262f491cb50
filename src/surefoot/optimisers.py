"""Optax's optimisers, made to run where JAX promotes no types by itself."""

import jax
import optax
from jaxtyping import PyTree


def adam(learning_rate: float, *, epsilon: float = 1e-8) -> optax.GradientTransformation:
    """Adam. Optax mixes integers and floats inside, which strict type promotion forbids."""
    inner = optax.adam(learning_rate, eps=epsilon)

    def update(
        updates: PyTree, state: optax.OptState, params: PyTree = None
    ) -> tuple[PyTree, optax.OptState]:
        with jax.numpy_dtype_promotion("standard"):
            return inner.update(updates, state, params)

    return optax.GradientTransformation(inner.init, update)
