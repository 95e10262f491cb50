"""Pytrees as flat lists of plain arrays.

A call of a compiled program spends most of its time on flattening pytrees of modules and on random keys,
which are slow to pass. A loop that makes one call per step keeps its state flat.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree


class FlatLayout(NamedTuple):
    """How pytrees of one structure become lists, and back."""

    flatten: Callable[[PyTree], list[Array]]
    unflatten: Callable[[list[Array]], Any]


def flat_layout(example: PyTree) -> FlatLayout:
    """The layout of pytrees like this one; shapes are enough."""
    leaves, structure = jax.tree.flatten(example)
    keys = [is_random_key(leaf) for leaf in leaves]

    def unflatten(flat: list[Array]) -> Any:
        pairs = zip(keys, flat, strict=True)
        return structure.unflatten(jax.random.wrap_key_data(leaf) if key else leaf for key, leaf in pairs)

    return FlatLayout(flatten, unflatten)


def flatten(tree: PyTree) -> list[Array]:
    """A pytree's leaves, random keys as their data."""
    return [jax.random.key_data(leaf) if is_random_key(leaf) else leaf for leaf in jax.tree.leaves(tree)]


def is_random_key(leaf: Any) -> bool:
    """Whether a leaf is a random key."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
