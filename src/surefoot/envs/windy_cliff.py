"""The windy cliff of Figure 2: a short path along a ledge where wind blows, a longer safe one above.

The bottom row holds the start (left), the goal (right) and the ledge between them. Stepping down from the
ledge falls; after each move that ends on it, wind blows the agent off now and then. A fall ends the episode
with no extra reward. The clock is part of the observation, so that running out of time is part of the task.
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

from surefoot.types import Action, Environment, EnvironmentStep, RandomKey, UserError

UP, RIGHT, DOWN, LEFT = range(4)
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
"""Rows and columns that each action moves by; row 0 is the top."""

FALL_CAUSES = ("", "wind", "step")
"""What `info["fall_cause"]` numbers."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The windy cliff's parameters; the defaults are the paper's."""

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

    def __post_init__(self) -> None:
        """Validate."""
        if self.rows < 2 or self.columns < 3 or self.time_limit < 1:
            raise UserError(
                f"windy cliff: got rows {self.rows}, columns {self.columns}, time_limit {self.time_limit}, "
                "accepted: rows from 2, columns from 3, time_limit from 1"
            )
        if not 0 <= self.wind <= 1:
            raise UserError(f"wind: got {self.wind}, accepted: a probability from 0 to 1")


class State(NamedTuple):
    """Where the agent stands, and for how long it has walked."""

    row: Int[Array, ""]
    column: Int[Array, ""]
    time: Int[Array, ""]


@lru_cache
def make(config: Config | None = None) -> Environment:
    """The windy cliff as pure functions."""
    config = config or Config()
    cells, bottom, goal = config.rows * config.columns, config.rows - 1, config.columns - 1

    def observe(state: State) -> Float[Array, "obs"]:
        position = jax.nn.one_hot(state.row * config.columns + state.column, cells)
        return jnp.append(position, state.time.astype(position.dtype))

    def reset(key: RandomKey) -> tuple[State, Array]:
        del key
        nought = jnp.zeros((), jnp.int32)
        state = State(nought + bottom, nought, nought)
        return state, observe(state)

    def on_ledge(row: Any, column: Any) -> Any:
        return (row == bottom) & (column > 0) & (column < goal)

    def step(state: State, action: Action, key: RandomKey) -> EnvironmentStep:
        down, right = (jnp.asarray(each, jnp.int32)[action] for each in zip(*MOVES, strict=True))
        row = jnp.clip(state.row + down, 0, bottom)
        column = jnp.clip(state.column + right, 0, goal)
        stepped_off = on_ledge(state.row, state.column) & (action == DOWN)
        blown_off = ~stepped_off & on_ledge(row, column) & (jax.random.uniform(key) < config.wind)
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


Plan = NDArray[np.integer[Any]]
"""A deterministic policy: the action at each time, row and column, `[time, row, column]`."""


class Returns(NamedTuple):
    """Exact mean and standard deviation of the return from each time, row and column."""

    mean: NDArray[Any]
    sd: NDArray[Any]


class Outcome(NamedTuple):
    """One thing that can follow an action."""

    chance: float
    reward: float
    cell: tuple[int, int]
    over: bool


def exact_returns(plan: Plan, config: Config | None = None, discount: float = 1.0) -> Returns:
    """Solve a plan by dynamic programming, backwards from the end of time."""
    config = config or Config()
    shape = (config.time_limit + 1, config.rows, config.columns)
    first, second = np.zeros(shape), np.zeros(shape)  # Moments of the return; nothing follows the end.
    for time in reversed(range(config.time_limit)):
        for cell in np.ndindex(config.rows, config.columns):
            for chance, reward, following, over in _outcomes(cell, plan[(time, *cell)], config):
                ahead = (time + 1, *following)
                mean, square = (0.0, 0.0) if over else (first[ahead], second[ahead])
                first[(time, *cell)] += chance * (reward + discount * mean)
                second[(time, *cell)] += chance * (
                    reward**2 + 2 * reward * discount * mean + discount**2 * square
                )
    return Returns(first, np.sqrt(np.maximum(second - first**2, 0)))


def walk(plan: Plan, config: Config | None = None) -> list[tuple[int, int]]:
    """The cells that a plan visits from the start while no wind blows."""
    config = config or Config()
    cells = [(config.rows - 1, 0)]
    for time in range(config.time_limit):
        *_, calm = _outcomes(cells[-1], plan[(time, *cells[-1])], config)
        cells.append(calm.cell)
        if calm.over:
            break
    return cells


def path_kind(plan: Plan, config: Config | None = None) -> str:
    """Which way a plan takes to the goal: "risky" by the ledge, "safe" above it, or "none"."""
    config = config or Config()
    cells = walk(plan, config)
    if cells[-1] != (config.rows - 1, config.columns - 1):
        return "none"
    return "risky" if any(_is_ledge(cell, config) for cell in cells) else "safe"


def _outcomes(cell: tuple[int, ...], action: Any, config: Config) -> list[Outcome]:
    """All that can follow an action; last, what follows without wind."""
    row, column = cell
    bottom, goal = config.rows - 1, config.columns - 1
    down, right = MOVES[action]
    target = (min(max(row + down, 0), bottom), min(max(column + right, 0), goal))
    fall = config.step_reward + config.fall_reward
    if _is_ledge(cell, config) and action == DOWN:
        return [Outcome(1.0, fall, (row, column), over=True)]
    if target == (bottom, goal):
        return [Outcome(1.0, config.step_reward + config.goal_reward, target, over=True)]
    calm = Outcome(1.0, config.step_reward, target, over=False)
    if _is_ledge(target, config):
        return [Outcome(config.wind, fall, target, over=True), calm._replace(chance=1 - config.wind)]
    return [calm]


def _is_ledge(cell: tuple[int, ...], config: Config) -> bool:
    return cell[0] == config.rows - 1 and 0 < cell[1] < config.columns - 1


def observations(config: Config | None = None) -> NDArray[np.float32]:
    """What is observed at every time, row and column, `[time, row, column, observation]`."""
    config = config or Config()
    cells = config.rows * config.columns
    position = np.eye(cells, dtype=np.float32).reshape(1, config.rows, config.columns, cells)
    clock = np.arange(config.time_limit, dtype=np.float32).reshape(-1, 1, 1, 1)
    shape = (config.time_limit, config.rows, config.columns)
    return np.concatenate(
        [np.broadcast_to(position, (*shape, cells)), np.broadcast_to(clock, (*shape, 1))], axis=-1
    )


COLORS = {
    "ground": (236, 229, 214),
    "ledge": (168, 184, 201),
    "start": (188, 212, 177),
    "goal": (94, 160, 94),
}
AGENT_COLOR, LINE_COLOR = (213, 94, 0), (255, 255, 255)
CELL_PIXELS = 48


def _kind(cell: tuple[int, ...], config: Config) -> str:
    if cell[0] == config.rows - 1 and cell[1] in (0, config.columns - 1):
        return "goal" if cell[1] else "start"
    return "ledge" if _is_ledge(cell, config) else "ground"


def render_text(state: State, config: Config) -> str:
    """The grid in letters: S start, G goal, ~ ledge, . ground, @ the agent; and the time."""
    letters = {"ground": ".", "ledge": "~", "start": "S", "goal": "G"}
    here = (int(state.row), int(state.column))
    lines = [
        "".join(
            "@" if (row, column) == here else letters[_kind((row, column), config)]
            for column in range(config.columns)
        )
        for row in range(config.rows)
    ]
    return "\n".join([*lines, f"time {int(state.time)} of {config.time_limit}"])


def render_pixels(state: State, config: Config) -> NDArray[np.uint8]:
    """The grid as a picture, `[height, width, 3]`: the agent is a disc."""
    size = CELL_PIXELS
    picture = np.zeros((config.rows * size, config.columns * size, 3), np.uint8)
    rows, columns = np.mgrid[:size, :size] - (size - 1) / 2
    for cell in np.ndindex(config.rows, config.columns):
        tile = picture[cell[0] * size : (cell[0] + 1) * size, cell[1] * size : (cell[1] + 1) * size]
        tile[:] = COLORS[_kind(cell, config)]
        tile[-1], tile[:, -1] = LINE_COLOR, LINE_COLOR
        if cell == (int(state.row), int(state.column)):
            tile[rows**2 + columns**2 < (size / 3) ** 2] = AGENT_COLOR
    return picture
