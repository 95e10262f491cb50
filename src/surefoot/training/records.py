"""Records: what each training step leaves for the log, written inside a compiled program, read in NumPy."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from surefoot.types import Action

MAX_RECORDS = 1_000
"""Steps whose records fit into one buffer on the device."""


class ActionChoice(NamedTuple):
    """An action and what the agent believed about it."""

    action: Action
    nongreedy: Bool[Array, ""]
    """Whether it differs from the action with the highest mean."""
    value: Float[Array, ""]
    """Its mean return."""
    epistemic: Float[Array, ""]
    """Its epistemic standard deviation; NaN for an agent that does not estimate it."""
    aleatoric: Float[Array, ""]
    """Its aleatoric standard deviation; NaN for an agent that does not estimate it."""


class StepRecord(NamedTuple):
    """What one step leaves for the log; stacked along the first axis for many steps."""

    choice: ActionChoice
    reward: Float[Array, ""]
    done: Bool[Array, ""]
    """Whether the episode ended."""
    terminated: Bool[Array, ""]
    """Whether it ended by itself, not by a time limit."""
    episode_return: Float[Array, ""]
    """Sum of the episode's rewards so far."""
    length: Int[Array, ""]
    """Steps of the episode so far."""
    info: dict[str, Array]


def allocate(record: Any) -> Any:
    """An empty buffer for the records of many steps, given the shapes of one."""
    return jax.tree.map(lambda leaf: jnp.zeros((MAX_RECORDS, *leaf.shape), leaf.dtype), record)


def write(buffer: Any, index: Any, record: Any) -> Any:
    """The buffer with a record at this index."""
    return jax.tree.map(lambda values, value: values.at[index].set(value), buffer, record)


def read(buffer: Any, count: int) -> Any:
    """The first records of a buffer, as NumPy arrays."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:count].copy(), buffer)


def of_all_envs(records: Any, envs: int) -> Any:
    """Records of steps that several environments made side by side, one environment after the other."""
    return records if envs == 1 else jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), records)


def concatenate(parts: list[Any]) -> Any:
    """Records of consecutive steps as one."""
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)
