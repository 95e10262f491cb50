"""Deep sea (Osband et al., 2019): a reward that only a long sequence of right actions finds.

A diver sinks through a grid of N x N cells, one row a step, from the top left. An action moves it left or
right; which of the two actions means right differs from cell to cell. Every move to the right costs a little.
Only N moves to the right in a row reach the treasure, which random actions find in one of 2^N episodes. The
rules are those of bsuite. Departure: the observation is a grid of booleans instead of floats, which takes a
quarter of the memory.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array, Bool, Int
from numpy.typing import NDArray

from surefoot.errors import require, require_whole_number
from surefoot.types import Action, Environment, EnvironmentStep, RandomKey

TREASURE = 1.0
"""The reward at the end of the path."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """Parameters of deep sea; the defaults are bsuite's."""

    size: int = 10
    """Rows and columns (N)."""
    deterministic: bool = True
    """Whether moves succeed always; otherwise one to the right fails with probability 1 / N."""
    unscaled_move_cost: float = 0.01
    """Cost of N moves to the right."""
    randomise_actions: bool = True
    """Whether the action that means right differs from cell to cell."""
    mapping_seed: int = 42
    """Seed of the meanings of actions, used as in bsuite."""

    def __post_init__(self) -> None:
        """Refuse parameters outside their bounds."""
        size = require_whole_number("size", self.size)
        require("size", size, 2 <= size <= 1_000, "whole numbers from 2 to 1,000")
        seed = require_whole_number("mapping_seed", self.mapping_seed)
        require("mapping_seed", seed, 0 <= seed < 2**32, "whole numbers from 0 below 2^32")
        cost = self.unscaled_move_cost
        require("unscaled_move_cost", cost, math.isfinite(cost), "finite numbers")


class State(NamedTuple):
    """Row and column of the diver, and whether it has left the path to the treasure."""

    row: Int[Array, ""]
    column: Int[Array, ""]
    strayed: Bool[Array, ""]


@lru_cache
def make(config: Config | None = None) -> Environment:
    """Deep sea as an environment in JAX."""
    config = config or Config()
    size, last = config.size, config.size - 1
    right_actions = action_mapping(config)

    def observe(row: Int[Array, ""], column: Int[Array, ""]) -> Bool[Array, "size size"]:
        """The diver's cell; below the last row, nothing."""
        rows, columns = jnp.arange(size)[:, None] == row, jnp.arange(size)[None, :] == column
        return rows & columns

    def reset(key: RandomKey) -> tuple[State, Array]:
        del key
        zero = jnp.zeros((), jnp.int32)
        return State(zero, zero, jnp.zeros((), bool)), observe(zero, zero)

    def step(state: State, action: Action, key: RandomKey) -> EnvironmentStep:
        fail_key, noise_key = jax.random.split(key)
        row, column = state.row, state.column
        is_right = action == jnp.asarray(right_actions)[row, column]
        found = is_right & (column == last)
        reward = jnp.where(found, TREASURE, 0.0) - jnp.where(is_right, config.unscaled_move_cost / size, 0.0)
        moves = is_right
        if not config.deterministic:
            moves = is_right & (jax.random.uniform(fail_key) > 1 / size)
            is_noisy = (row == last) & ((column == 0) | (column == last))
            reward += jnp.where(is_noisy, jax.random.normal(noise_key), 0.0)
        next_column = jnp.where(is_right, column + moves.astype(jnp.int32), column - 1).clip(0, last)
        strayed = state.strayed | (~is_right & (row == column))
        done = row == last
        return EnvironmentStep(
            state=State(row + 1, next_column, strayed),
            obs=observe(row + 1, next_column),
            reward=reward,
            terminated=done,
            truncated=jnp.zeros((), bool),
            info={"strayed": done & strayed, "found_treasure": found},
        )

    cells = Box(0, 1, (size, size), bool)  # pyright: ignore[reportCallIssue, reportArgumentType]
    return Environment(reset, step, cells, Discrete(2))


def action_mapping(config: Config) -> NDArray[np.int64]:
    """Which action means right in each cell, `[row, column]`, drawn as bsuite draws it."""
    shape = (config.size, config.size)
    if not config.randomise_actions:
        return np.ones(shape, np.int64)
    return np.random.RandomState(config.mapping_seed).binomial(1, 0.5, shape).astype(np.int64)


def optimal_return(config: Config) -> float:
    """The mean return of always going right, as bsuite computes it."""
    certain = 1.0 if config.deterministic else (1 - 1 / config.size) ** (config.size - 1)
    return TREASURE * certain - config.unscaled_move_cost
