"""Experience replay: a ring buffer of transitions as a pytree, written in place.

Observations are stored in their own dtype: booleans as booleans, bytes as bytes. It is written here because
flashbax's item buffer, which is as fast, depends on 23 packages of 130 MB.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Shaped, UInt32

from surefoot.types import RandomKey, Transition


class Replay(NamedTuple):
    """The newest transitions, at most `capacity` of them, and the number of all that were ever added."""

    storage: Transition
    added: Int[Array, ""]

    @property
    def capacity(self) -> int:
        """The number of transitions that fit."""
        return self.storage.reward.shape[0]

    @property
    def size(self) -> Int[Array, ""]:
        """The number of transitions that are stored."""
        return jnp.minimum(self.added, self.capacity)


def init(capacity: int, example: Transition) -> Replay:
    """An empty replay for transitions of the shapes and dtypes of this one."""
    storage = jax.tree.map(lambda leaf: jnp.zeros((capacity, *leaf.shape), leaf.dtype), example)
    return Replay(storage, jnp.zeros((), jnp.int32))


def add(replay: Replay, transition: Transition) -> Replay:
    """The replay with one more transition, which overwrites the oldest one if it is full."""
    index = replay.added % replay.capacity
    storage = jax.tree.map(lambda ring, leaf: ring.at[index].set(leaf), replay.storage, transition)
    return Replay(storage, replay.added + 1)


def add_batch(replay: Replay, transitions: Transition) -> Replay:
    """The replay with a batch of transitions, as if they were added one after the other."""
    count = transitions.reward.shape[0]
    indices = (replay.added + jnp.arange(count)) % replay.capacity
    storage = jax.tree.map(lambda ring, leaf: ring.at[indices].set(leaf), replay.storage, transitions)
    return Replay(storage, replay.added + count)


def sample(replay: Replay, key: RandomKey, batch: int) -> Transition:
    """A batch of transitions, drawn uniformly with replacement; zeros if the replay is empty.

    The gather is inside a conditional that returns only the batch. Without it, in a loop that also writes
    to the replay, XLA on CPU would copy the whole ring at every step.
    """
    bits = _random_bits(key, batch)

    def gather(replay: Replay) -> Transition:
        indices = bits % replay.size.astype(jnp.uint32)
        return jax.tree.map(lambda ring: _rows(ring, indices), replay.storage)

    def zeros(replay: Replay) -> Transition:
        return jax.tree.map(lambda ring: jnp.zeros((batch, *ring.shape[1:]), ring.dtype), replay.storage)

    return jax.lax.cond(replay.added > 0, gather, zeros, replay)


def _rows(ring: Shaped[Array, "capacity *rest"], indices: Any) -> Shaped[Array, "batch *rest"]:
    """Some rows of an array, each copied as a whole: XLA on CPU copies images number by number."""
    flat = ring.reshape(ring.shape[0], -1)
    return flat.at[indices].get(mode="promise_in_bounds").reshape(-1, *ring.shape[1:])


def _random_bits(key: RandomKey, count: int) -> UInt32[Array, "count"]:
    """Numbers of 32 random bits, one for each index.

    From Philox: JAX's own Threefry is a loop of small operations, on CPU six hundredths of a step of DQN.
    `randint` takes two numbers for each index, to remove the bias of the remainder, which at a capacity of
    100,000 makes some indices likelier than others by 1 in 40,000.
    """
    state = jnp.resize(jax.random.key_data(key), (4,))
    _, bits = jax.lax.rng_bit_generator(state, (count,), jnp.uint32, jax.lax.RandomAlgorithm.RNG_PHILOX)
    return bits
