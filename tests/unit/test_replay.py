"""The replay: it returns the transitions that were added, in their dtypes, and is never copied."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot import replay
from surefoot.types import Transition


def transition(number, dtype=jnp.float32):
    obs = jnp.full((2, 3), number, dtype)
    return Transition(
        obs, jnp.asarray(number, jnp.int32), jnp.asarray(float(number)), jnp.asarray(number % 2 == 1), obs
    )


def filled(capacity, count, dtype=jnp.float32):
    ring = replay.init(capacity, transition(0, dtype))
    for number in range(count):
        ring = replay.add(ring, transition(number, dtype))
    return ring


def test_the_newest_transitions_are_stored():
    ring = filled(4, 10)
    assert int(ring.size) == 4
    assert ring.capacity == 4
    assert set(np.asarray(ring.storage.action).tolist()) == {6, 7, 8, 9}


@pytest.mark.parametrize("dtype", [jnp.bool_, jnp.uint8, jnp.float32])
def test_observations_keep_their_dtype(dtype):
    ring = filled(8, 5, dtype)
    batch = replay.sample(ring, jax.random.key(0), 3)
    assert ring.storage.obs.dtype == batch.obs.dtype == batch.next_obs.dtype == dtype


def test_a_batch_has_complete_transitions_drawn_uniformly_from_those_stored():
    batch = replay.sample(filled(100, 10), jax.random.key(0), 20_000)
    actions = np.asarray(batch.action)
    np.testing.assert_array_equal(batch.reward, actions)
    np.testing.assert_array_equal(batch.obs[:, 0, 0], actions)
    np.testing.assert_array_equal(batch.terminated, actions % 2 == 1)
    counts = np.bincount(actions, minlength=10)
    assert len(counts) == 10
    assert np.all(np.abs(counts - 2_000) < 4 * np.sqrt(20_000 * 0.1 * 0.9))


def test_a_batch_from_an_empty_replay_is_zero():
    batch = replay.sample(replay.init(5, transition(3)), jax.random.key(0), 4)
    assert not any(np.any(leaf) for leaf in batch)
    assert batch.obs.shape == (4, 2, 3)


def test_adding_and_sampling_in_a_loop_does_not_copy_the_ring():
    """The compiled program has no copy of an array of the ring's shape in the body of its loop."""
    ring = replay.init(12_345, transition(0))

    def body(i, carry):
        ring, total = carry
        ring = replay.add(ring, transition(1)._replace(reward=total))
        batch = replay.sample(ring, jax.random.fold_in(jax.random.key(0), i), 8)
        return ring, total + batch.reward.sum() + batch.obs.sum() + batch.next_obs.sum()

    def program(ring):
        return jax.lax.fori_loop(0, 100, body, (ring, jnp.asarray(0.0)))

    text = jax.jit(program, donate_argnums=0).lower(ring).compile().as_text()
    assert "12345,2,3" in text
    loop_copies = [
        line
        for line in text.splitlines()
        if re.search(r"= \S*\[12345[^ ]* copy\(", line) and "ENTRY" not in line
    ]
    assert not loop_copies
