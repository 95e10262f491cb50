"""Pytrees as short lists of plain arrays.

A call of a compiled program costs microseconds for each array that goes in and comes out, and more for
random keys. A loop that makes one call per step keeps its state in few arrays: all small ones of a dtype are
joined into one.
"""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

MAX_JOINED_SIZE = 1_000
"""Elements of the largest array that is joined with others: copying a larger one costs more than it saves."""


class FlatLayout(NamedTuple):
    """How pytrees of one structure become lists, and back; both are meant for compiled programs."""

    flatten: Callable[[PyTree], list[Array]]
    unflatten: Callable[[list[Array]], Any]


def flat_layout(example: PyTree) -> FlatLayout:
    """The layout of pytrees like this one; shapes are enough."""
    leaves, structure = jax.tree.flatten(example)
    shapes = [jax.eval_shape(_without_key, leaf) for leaf in leaves]
    alone = [i for i, leaf in enumerate(shapes) if math.prod(leaf.shape) > MAX_JOINED_SIZE]
    joined: dict[Any, list[int]] = {}
    for i, leaf in enumerate(shapes):
        if i not in alone:
            joined.setdefault(leaf.dtype, []).append(i)

    def flatten(tree: PyTree) -> list[Array]:
        given = list(map(_without_key, jax.tree.leaves(tree)))
        groups = [[given[i].reshape(-1) for i in group] for group in joined.values()]
        return [*(given[i] for i in alone), *map(jnp.concatenate, groups)]

    def unflatten(flat: list[Array]) -> Any:
        found = dict(zip(alone, flat[: len(alone)], strict=True))
        for group, array in zip(joined.values(), flat[len(alone) :], strict=True):
            found |= zip(group, _split(array, [shapes[i].shape for i in group]), strict=True)
        pairs = [(leaf, found[i]) for i, leaf in enumerate(leaves)]
        return structure.unflatten(
            jax.random.wrap_key_data(array) if is_random_key(leaf) else array for leaf, array in pairs
        )

    return FlatLayout(flatten, unflatten)


def _split(array: Array, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """The arrays of these shapes that were joined."""
    ends = list(accumulate(map(math.prod, shapes)))
    starts = [0, *ends[:-1]]
    return [array[a:b].reshape(shape) for a, b, shape in zip(starts, ends, shapes, strict=True)]


def _without_key(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if is_random_key(leaf) else leaf


def is_random_key(leaf: Any) -> bool:
    """Whether a leaf is a random key."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
