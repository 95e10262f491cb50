"""Pytrees as named arrays, the form in which checkpoints store them, and back."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree
from numpy.typing import NDArray

from surefoot.replay import Replay
from surefoot.runs.checkpoint import ArraySpec, CheckpointError, Tensors, require_arrays

BITS = ".bits"
"""Ends the name of an array of booleans that are stored as bits, eight to a byte."""


def to_tensors(tree: PyTree) -> dict[str, NDArray[Any]]:
    """A pytree's arrays, named by their paths in it; a random key is stored as its data."""
    return {_name(path): np.asarray(_plain(leaf)) for path, leaf in _leaves(tree)}


def from_tensors(template: PyTree, tensors: Tensors) -> Any:
    """A pytree like the template, from arrays by name."""

    def leaf(path: Any, like: Any) -> Any:
        array = _owned_by_jax(tensors[_name(path)])
        return jax.random.wrap_key_data(array) if is_random_key(like) else array

    return jax.tree_util.tree_map_with_path(leaf, template)


def specs_of(template: PyTree) -> dict[str, ArraySpec]:
    """The shapes and dtypes that the arrays of such a pytree must have."""

    def shape(leaf: Any) -> ArraySpec:
        plain = jax.eval_shape(_plain, leaf)
        return ArraySpec(tuple(plain.shape), np.dtype(plain.dtype))

    return {_name(path): shape(leaf) for path, leaf in _leaves(template)}


def matching(template: PyTree, found: Tensors) -> Tensors:
    """The arrays, if they are those of such a pytree."""
    shapes = {name: ArraySpec(array.shape, array.dtype) for name, array in found.items()}
    require_arrays("checkpoint", shapes, specs_of(template))
    return found


def replay_to_tensors(replay: Replay) -> dict[str, NDArray[Any]]:
    """The filled part of a replay; booleans as bits."""
    size = int(replay.size)
    tensors = {"added": np.asarray(replay.added)}
    for name, array in to_tensors(replay.storage).items():
        rows = array[:size]
        if rows.dtype.kind == "b":
            flat = rows.reshape(size, int(np.prod(rows.shape[1:])))
            tensors[name + BITS] = np.packbits(flat, axis=1)
        else:
            tensors[name] = rows
    return tensors


def replay_specs(template: Replay) -> dict[str, ArraySpec]:
    """The shapes and dtypes that the arrays of such a replay must have."""
    expected = {"added": ArraySpec((), np.dtype(np.int32))}
    for name, (shape, dtype, _) in specs_of(template.storage).items():
        if dtype.kind == "b":
            bits = int(np.prod(shape[1:]))
            expected[name + BITS] = ArraySpec((shape[0], -(-bits // 8)), np.dtype(np.uint8), ragged=True)
        else:
            expected[name] = ArraySpec(shape, dtype, ragged=True)
    return expected


def replay_from_tensors(template: Replay, tensors: Tensors) -> Replay:
    """A replay as large as the template, filled as far as it was."""
    rows = min(int(tensors["added"]), template.capacity)
    if any(len(array) != rows for name, array in tensors.items() if name != "added"):
        raise CheckpointError(f"checkpoint: its replay does not have the {rows} transitions that it counts")
    full: dict[str, NDArray[Any]] = {}
    for name, (shape, dtype, _) in specs_of(template.storage).items():
        full[name] = np.zeros(shape, dtype)
        if dtype.kind == "b":
            packed = tensors[name + BITS]
            rows = np.unpackbits(packed, axis=1, count=int(np.prod(shape[1:]))).astype(bool)
            full[name][: len(rows)] = rows.reshape(-1, *shape[1:])
        else:
            full[name][: len(tensors[name])] = tensors[name]
    return Replay(from_tensors(template.storage, full), _owned_by_jax(tensors["added"]))


def _owned_by_jax(array: NDArray[Any]) -> Array:
    """A copy of an array, since memory that NumPy owns must not be donated.

    `jnp.array` would copy as well, but compiles a program for each shape.
    """
    return jax.device_put(array, may_alias=False)


def _leaves(tree: PyTree) -> list[tuple[Any, Any]]:
    return jax.tree_util.tree_leaves_with_path(tree)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "value"


def is_random_key(leaf: Any) -> bool:
    """Whether a leaf is a random key."""
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _plain(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if is_random_key(leaf) else leaf
