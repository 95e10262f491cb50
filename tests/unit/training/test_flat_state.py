"""States in few arrays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot.training import flat_state
from surefoot.training.flat_state import flat_layout


@pytest.fixture
def tree():
    keys = jax.random.split(jax.random.key(3))
    return {
        "weights": jnp.arange(6.0).reshape(2, 3),
        "bias": -jnp.ones(2),
        "count": jnp.asarray(7, jnp.int32),
        "flags": jnp.asarray([True, False]),
        "key": keys[0],
        "keys": keys,
        "images": jnp.arange(40, dtype=jnp.float32).reshape(4, 10),
        "empty": jnp.zeros((0, 3)),
    }


def test_small_arrays_of_a_dtype_become_one_and_large_ones_stay_as_they_are(tree, monkeypatch):
    monkeypatch.setattr(flat_state, "MAX_JOINED_SIZE", 20)
    flat = flat_layout(tree).flatten(tree)
    shapes = {(leaf.dtype.name, leaf.shape) for leaf in flat}
    assert shapes == {
        ("float32", (4, 10)),
        ("float32", (8,)),
        ("int32", (1,)),
        ("bool", (2,)),
        ("uint32", (6,)),
    }


@pytest.mark.parametrize("largest", [0, 20, 1_000])
def test_a_tree_comes_back_as_it_was(tree, monkeypatch, largest):
    monkeypatch.setattr(flat_state, "MAX_JOINED_SIZE", largest)
    layout = flat_layout(jax.eval_shape(lambda: tree))
    back = layout.unflatten(jax.jit(layout.flatten)(tree))
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    for expected, found in zip(jax.tree.leaves(tree), jax.tree.leaves(back), strict=True):
        assert expected.dtype == found.dtype
        if flat_state.is_random_key(expected):
            expected, found = map(jax.random.key_data, (expected, found))
        np.testing.assert_array_equal(expected, found)
