"""Trees as plain lists of arrays.

A call into a compiled program spends most of its time on taking trees of modules apart and putting them
together, and on random keys, which have a slow way in: a loop that makes one call per step keeps its state
packed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree


class Packing(NamedTuple):
    """Between trees of one form and lists."""

    pack: Callable[[PyTree], list[Array]]
    unpack: Callable[[list[Array]], Any]


def packing_of(example: PyTree) -> Packing:
    """The packing of trees like this one; shapes will do."""
    leaves, form = jax.tree.flatten(example)
    keys = [is_key(leaf) for leaf in leaves]

    def unpack(packed: list[Array]) -> Any:
        pairs = zip(keys, packed, strict=True)
        return form.unflatten(jax.random.wrap_key_data(leaf) if key else leaf for key, leaf in pairs)

    return Packing(pack, unpack)


def pack(tree: PyTree) -> list[Array]:
    """A tree's leaves, random keys as their data."""
    return [jax.random.key_data(leaf) if is_key(leaf) else leaf for leaf in jax.tree.leaves(tree)]


def is_key(leaf: Any) -> bool:
    """Whether a leaf is a random key."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
