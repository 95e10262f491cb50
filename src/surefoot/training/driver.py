"""What drives the training step: the contract of the compiled and the hosted driver."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from surefoot.agents.base import Learning
from surefoot.training.step import Record
from surefoot.types import FaultyEnvironmentError, RandomKey

KEPT = 4
"""Programs that are remembered, each for an agent."""
LONGEST = 1_000
"""Steps whose records fit into one room on the device."""

Stop = Callable[[], bool]
"""Asked now and then whether to end early."""


def never() -> bool:
    """Go on to the end."""
    return False


class Advanced(NamedTuple):
    """How far a run came."""

    state: Any
    record: Record
    """Of the steps that were made (NumPy): fewer than asked for after a stop or a fault."""
    fault: FaultyEnvironmentError | None = None
    """What the environment did wrong; the run ends before that step."""


class Driver(NamedTuple):
    """Trains an agent in an environment.

    - `init(key)`: a run before its first step.
    - `restart(state)`: the same run at the beginning of a new episode, perhaps of another environment.
    - `advance(state, count, stop)`: the run `count` steps later, or fewer. The state that went in is
      used up. However a run is cut into calls, it ends the same.
    - `reopen(state)`: a state from a checkpoint, the environment brought back to where it was.
    - `shapes_beside()`: of what stands in a state beside the run.
    """

    init: Callable[[RandomKey], Any]
    restart: Callable[[Any], Any]
    advance: Callable[..., Advanced]
    reopen: Callable[[Any], Any]
    shapes_beside: Callable[[], Any]


def require_steps(count: int) -> None:
    """Refuse to make no steps."""
    if count < 1:
        raise ValueError(f"count: got {count}, accepted: whole numbers from 1")


def next_boundary(now: int, end: int, config: Learning) -> int:
    """The next step at which learning begins, targets are renewed, or records are full."""
    if now < config.learning_starts:
        change = config.learning_starts
    else:
        change = (now // config.target_period + 1) * config.target_period
    return min(end, now + LONGEST, change)


def renews_target(now: int, config: Learning) -> bool:
    """Whether targets are renewed after this many steps."""
    return now > config.learning_starts and now % config.target_period == 0


def room_for(record: Any) -> Any:
    """Room for the records of many steps, given the shape of one."""
    return jax.tree.map(lambda leaf: jnp.zeros((LONGEST, *leaf.shape), leaf.dtype), record)


def write(room: Any, i: Any, record: Any) -> Any:
    """The room with one more record."""
    return jax.tree.map(lambda places, value: places.at[i].set(value), room, record)


def read(room: Any, count: int, time_axis: int = 0) -> Any:
    """The part of a room that was used, out of JAX's hands."""
    return jax.tree.map(lambda leaf: np.take(np.asarray(leaf), np.arange(count), axis=time_axis), room)


def joined(parts: list[Any], time_axis: int = 0) -> Any:
    """Records one after the other."""
    return jax.tree.map(lambda *each: np.concatenate(each, axis=time_axis), *parts)
