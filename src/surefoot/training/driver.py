"""The contract of the compiled and the hosted driver: how training is advanced."""

from collections.abc import Callable
from typing import Any, NamedTuple

from surefoot.agents.base import AgentConfig
from surefoot.training.records import MAX_RECORDS, StepRecord
from surefoot.types import RandomKey

Stop = Callable[[], bool]
"""Asked every so often whether to end early."""


def never_stop() -> bool:
    """Go on to the end."""
    return False


class AdvanceResult(NamedTuple):
    """How far training came."""

    state: Any
    record: StepRecord | None
    """Records of the steps that were made, as NumPy arrays; None if there were none."""
    error: BaseException | None = None
    """What the environment raised. The state is that before the step which raised it."""


class Driver(NamedTuple):
    """Trains an agent in an environment.

    - `init(key)`: the state before the first step.
    - `restart(state)`: the same state at the beginning of a new episode, possibly of another environment.
    - `advance(state, count, stop)`: the state `count` steps later, or fewer. The buffers of the given state
      are donated. The result does not depend on how training is cut into calls.
    - `reopen(state)`: a state from a checkpoint, the environment brought back to where it was.
    - `env_state_shapes()`: the shapes of what a state holds in addition to the `TrainState`.
    """

    init: Callable[[RandomKey], Any]
    restart: Callable[[Any], Any]
    advance: Callable[..., AdvanceResult]
    reopen: Callable[[Any], Any]
    env_state_shapes: Callable[[], Any]


def require_steps(count: int, config: AgentConfig) -> None:
    """Refuse to advance by no steps, or by steps of some environments only."""
    if count < 1 or count % config.envs:
        raise ValueError(f"count: got {count}, accepted: whole multiples of {config.envs}, from 1")


def round_up(steps: int, envs: int) -> int:
    """The least number of steps, not below this, that are equally many in each environment."""
    return -(-steps // envs) * envs


def next_boundary(now: int, end: int, config: AgentConfig) -> int:
    """The next step at which learning begins, targets are renewed, or the buffer of records is full."""
    if now < config.learning_starts:
        change = config.learning_starts
    else:
        change = (now // config.target_period + 1) * config.target_period
    return min(end, now + MAX_RECORDS * config.envs, round_up(change, config.envs))


def renews_target(now: int, config: AgentConfig) -> bool:
    """Whether targets are renewed after this many steps: at the first that all environments make together."""
    if now <= config.learning_starts:
        return False
    return now // config.target_period > (now - config.envs) // config.target_period
