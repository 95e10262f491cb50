"""The windy cliff of Figure 2: a short path along a ledge where wind blows, and a longer safe one above it.

The bottom row has the start (left), the goal (right) and the ledge between them. An agent that steps down
from the ledge falls; after each move that ends on it, wind may blow the agent off. A fall terminates the
episode with no extra reward. The time is part of the observation, so that the time limit is part of the task
and terminates the episode too.

An option puts a second, windier cliff before it, whose end leads to the start of the first by a gate that
opens in this direction only. An agent whose episodes all start behind the gate never sees the far cliff,
however it explores; with `far_starts` it is deployed from further away and must cross it. Dynamics and
observations stay the same, so that all that differs is what the agent has learned.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array, Float, Int
from numpy.typing import NDArray

from surefoot.errors import UserError, require
from surefoot.types import Action, Environment, EnvironmentStep, RandomKey

UP, RIGHT, DOWN, LEFT = range(4)
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""The change of row and column by each action; row 0 is the top."""

FALL_CAUSES = ("", "wind", "step")
"""Names of the numbers in `info["fall_cause"]`; the first means no fall."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Parameters of the windy cliff; the defaults are the paper's."""

    rows: int = 2
    """Height of the grid; the ledge is in the bottom row."""
    columns: int = 5
    """Width of the grid; the ledge is all of the bottom row but its ends."""
    wind: float = 0.05
    """Probability of being blown off after a move that ends on the ledge."""
    step_reward: float = -1.0
    """Reward of every step."""
    goal_reward: float = 10.0
    """Further reward for reaching the goal."""
    fall_reward: float = 0.0
    """Further reward for falling."""
    time_limit: int = 15
    """Steps after which an episode ends."""
    far_columns: int = 0
    """Columns of a second cliff left of the grid, which lead into it and cannot be entered from it."""
    far_wind: float = 0.3
    """Probability of being blown off there."""
    far_starts: float = 0.0
    """Probability that an episode starts at the left end of the second cliff instead of the grid's."""

    @property
    def width(self) -> int:
        """Columns of both cliffs; the observation has a number for each of their cells."""
        return self.far_columns + self.columns

    def __post_init__(self) -> None:
        """Refuse parameters outside their bounds."""
        if self.rows < 2 or self.columns < 3 or self.time_limit < 1:
            raise UserError(
                f"windy cliff: got rows {self.rows}, columns {self.columns}, time_limit {self.time_limit}, "
                "accepted: rows from 2, columns from 3, time_limit from 1"
            )
        for name in ("wind", "far_wind", "far_starts"):
            value = getattr(self, name)
            require(name, value, 0 <= value <= 1, "a probability from 0 to 1")
        require(
            "far_columns", self.far_columns, self.far_columns in {0, max(self.far_columns, 2)}, "0, or from 2"
        )
        is_possible = self.far_starts == 0 or self.far_columns > 0
        require("far_starts", self.far_starts, is_possible, "0, unless there are far_columns")


class State(NamedTuple):
    """Row and column of the agent, and the number of steps since the start."""

    row: Int[Array, ""]
    column: Int[Array, ""]
    time: Int[Array, ""]


@lru_cache
def make(config: Config | None = None) -> Environment:
    """The windy cliff as an environment in JAX."""
    config = config or Config()
    cells, bottom, goal = config.rows * config.width, config.rows - 1, config.width - 1
    gate = config.far_columns

    def observe(state: State) -> Float[Array, "obs"]:
        position = jax.nn.one_hot(state.row * config.width + state.column, cells)
        return jnp.append(position, state.time.astype(position.dtype))

    def reset(key: RandomKey) -> tuple[State, Array]:
        zero = jnp.zeros((), jnp.int32)
        column = jnp.where(jax.random.uniform(key) < config.far_starts, 0, gate)
        state = State(zero + bottom, zero + column, zero)
        return state, observe(state)

    def on_ledge(row: Any, column: Any) -> Any:
        return (row == bottom) & (column > 0) & (column < goal) & (column != gate)

    def step(state: State, action: Action, key: RandomKey) -> EnvironmentStep:
        down, right = (jnp.asarray(each, jnp.int32)[action] for each in zip(*MOVES, strict=True))
        row = jnp.clip(state.row + down, 0, bottom)
        # Who has passed the gate stays behind it.
        column = jnp.clip(state.column + right, jnp.where(state.column < gate, 0, gate), goal)
        wind = jnp.where(column < gate, config.far_wind, config.wind)
        stepped_off = on_ledge(state.row, state.column) & (action == DOWN)
        blown_off = ~stepped_off & on_ledge(row, column) & (jax.random.uniform(key) < wind)
        fell = stepped_off | blown_off
        arrived = (row == bottom) & (column == goal)
        next_state = State(row, column, state.time + 1)
        return EnvironmentStep(
            state=next_state,
            obs=observe(next_state),
            reward=config.step_reward
            + jnp.where(arrived, config.goal_reward, 0.0)
            + jnp.where(fell, config.fall_reward, 0.0),
            terminated=arrived | fell | (next_state.time >= config.time_limit),
            truncated=jnp.zeros((), bool),
            info={
                "fell": fell,
                "blown_off": blown_off,
                "fall_cause": jnp.where(blown_off, 1, jnp.where(stepped_off, 2, 0)),
            },
        )

    highest = np.append(np.ones(cells), config.time_limit).astype(np.float32)
    return Environment(reset, step, Box(np.zeros_like(highest), highest), Discrete(4))


def is_ledge(cell: tuple[int, ...], config: Config) -> bool:
    """Whether a cell, given by row and column, is on the ledge."""
    return cell[0] == config.rows - 1 and cell[1] not in {0, config.far_columns, config.width - 1}


def wind_at(cell: tuple[int, ...], config: Config) -> float:
    """The probability of being blown off after a move that ends in a cell."""
    if not is_ledge(cell, config):
        return 0.0
    return config.far_wind if cell[1] < config.far_columns else config.wind


def safe_action(observation: NDArray[Any], rows: int = 2) -> int:
    """The action that leads to the goal without a risk: up from the ledge, along it, and down at its end.

    It is what a careful engineer would write, and serves as a fallback for an agent that is not sure.
    """
    position = int(np.argmax(observation[:-1]))
    row, column = divmod(position, (len(observation) - 1) // rows)
    goal = (len(observation) - 1) // rows - 1
    if column == goal:
        return DOWN
    return UP if row == rows - 1 else RIGHT


def observations(config: Config | None = None) -> NDArray[np.float32]:
    """The observation at every time, row and column, `[time, row, column, observation]`."""
    config = config or Config()
    cells = config.rows * config.width
    position = np.eye(cells, dtype=np.float32).reshape(1, config.rows, config.width, cells)
    clock = np.arange(config.time_limit, dtype=np.float32).reshape(-1, 1, 1, 1)
    shape = (config.time_limit, config.rows, config.width)
    return np.concatenate(
        [np.broadcast_to(position, (*shape, cells)), np.broadcast_to(clock, (*shape, 1))], axis=-1
    )
