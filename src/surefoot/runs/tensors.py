"""Between trees and named arrays, as checkpoints hold them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree
from numpy.typing import NDArray

from surefoot.replay import Replay
from surefoot.runs.checkpoint import CheckpointError, Shape, Tensors, require
from surefoot.training.packing import is_key

BITS = ".bits"
"""Ends the name of a replay's truth values, eight to a byte."""


def to_tensors(tree: PyTree) -> dict[str, NDArray[Any]]:
    """A tree's arrays by their places in it; a random key is its data."""
    return {_name(path): np.asarray(_plain(leaf)) for path, leaf in _leaves(tree)}


def from_tensors(template: PyTree, tensors: Tensors) -> Any:
    """A tree like the template from arrays by name."""

    def leaf(path: Any, like: Any) -> Any:
        # Copied by JAX: memory of NumPy's is not to be given away for reuse.
        array = jnp.array(tensors[_name(path)], copy=True)
        return jax.random.wrap_key_data(array) if is_key(like) else array

    return jax.tree_util.tree_map_with_path(leaf, template)


def shapes_of(template: PyTree) -> dict[str, Shape]:
    """What the arrays of such a tree must be like."""

    def shape(leaf: Any) -> Shape:
        plain = jax.eval_shape(_plain, leaf)
        return Shape(tuple(plain.shape), np.dtype(plain.dtype))

    return {_name(path): shape(leaf) for path, leaf in _leaves(template)}


def matching(template: PyTree, found: Tensors) -> Tensors:
    """The arrays, if they are those of such a tree."""
    shapes = {name: Shape(array.shape, array.dtype) for name, array in found.items()}
    require("checkpoint", shapes, shapes_of(template))
    return found


def replay_to_tensors(replay: Replay) -> dict[str, NDArray[Any]]:
    """A replay without the room that nothing has filled yet; truth values as bits."""
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


def replay_shapes(template: Replay) -> dict[str, Shape]:
    """What the arrays of such a replay must be like."""
    expected = {"added": Shape((), np.dtype(np.int32))}
    for name, (shape, dtype, _) in shapes_of(template.storage).items():
        if dtype.kind == "b":
            bits = int(np.prod(shape[1:]))
            expected[name + BITS] = Shape((shape[0], -(-bits // 8)), np.dtype(np.uint8), ragged=True)
        else:
            expected[name] = Shape(shape, dtype, ragged=True)
    return expected


def replay_from_tensors(template: Replay, tensors: Tensors) -> Replay:
    """A replay as large as the template, filled as far as it was."""
    rows = min(int(tensors["added"]), template.capacity)
    if any(len(array) != rows for name, array in tensors.items() if name != "added"):
        raise CheckpointError(f"checkpoint: its replay should have {rows} transitions, and has not")
    full: dict[str, NDArray[Any]] = {}
    for name, (shape, dtype, _) in shapes_of(template.storage).items():
        full[name] = np.zeros(shape, dtype)
        if dtype.kind == "b":
            packed = tensors[name + BITS]
            rows = np.unpackbits(packed, axis=1, count=int(np.prod(shape[1:]))).astype(bool)
            full[name][: len(rows)] = rows.reshape(-1, *shape[1:])
        else:
            full[name][: len(tensors[name])] = tensors[name]
    return Replay(from_tensors(template.storage, full), jnp.array(tensors["added"], copy=True))


def _leaves(tree: PyTree) -> list[tuple[Any, Any]]:
    return jax.tree_util.tree_leaves_with_path(tree)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "value"


def _plain(leaf: Any) -> Any:
    return jax.random.key_data(leaf) if is_key(leaf) else leaf
