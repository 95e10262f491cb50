"""The windy cliff solved exactly: the return of any deterministic policy, and the path that it takes."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.envs.windy_cliff import DOWN, MOVES, Config, is_ledge, wind_at

PolicyTable = NDArray[np.integer[Any]]
"""A deterministic policy: the action at each time, row and column, `[time, row, column]`."""


class Returns(NamedTuple):
    """Exact mean and standard deviation of the return from each time, row and column."""

    mean: NDArray[Any]
    sd: NDArray[Any]


class Outcome(NamedTuple):
    """One possible outcome of an action."""

    probability: float
    reward: float
    cell: tuple[int, int]
    done: bool


def exact_returns(policy_table: PolicyTable, config: Config | None = None, discount: float = 1.0) -> Returns:
    """The returns of a policy, by dynamic programming backwards from the time limit."""
    config = config or Config()
    shape = (config.time_limit + 1, config.rows, config.width)
    first, second = np.zeros(shape), np.zeros(shape)  # Moments of the return; 0 at the time limit.
    for time in reversed(range(config.time_limit)):
        for cell in np.ndindex(config.rows, config.width):
            for probability, reward, next_cell, done in _outcomes(cell, policy_table[(time, *cell)], config):
                ahead = (time + 1, *next_cell)
                mean, square = (0.0, 0.0) if done else (first[ahead], second[ahead])
                first[(time, *cell)] += probability * (reward + discount * mean)
                second[(time, *cell)] += probability * (
                    reward**2 + 2 * reward * discount * mean + discount**2 * square
                )
    return Returns(first, np.sqrt(np.maximum(second - first**2, 0)))


def return_distribution(
    policy_table: PolicyTable, state: tuple[int, int, int], config: Config | None = None
) -> dict[float, float]:
    """The probability of each undiscounted return of a policy from a time, row and column."""
    config = config or Config()
    time, *cell = state
    if time == config.time_limit:
        return {0.0: 1.0}
    found: dict[float, float] = {}
    for probability, reward, next_cell, done in _outcomes((cell[0], cell[1]), policy_table[state], config):
        ahead = {0.0: 1.0} if done else return_distribution(policy_table, (time + 1, *next_cell), config)
        for value, chance in ahead.items():
            found[reward + value] = found.get(reward + value, 0.0) + probability * chance
    return found


def visit_probabilities(policy_table: PolicyTable, config: Config | None = None) -> NDArray[np.float64]:
    """The probability that an episode of a policy comes by each time, row and column."""
    config = config or Config()
    visits = np.zeros((config.time_limit + 1, config.rows, config.width))
    visits[0, config.rows - 1, config.far_columns] = 1
    for time in range(config.time_limit):
        for row, column in np.argwhere(visits[time] > 0).tolist():
            for outcome in _outcomes((row, column), policy_table[time, row, column], config):
                if not outcome.done:
                    visits[(time + 1, *outcome.cell)] += visits[time, row, column] * outcome.probability
    return visits[:-1]


def walk(
    policy_table: PolicyTable, config: Config | None = None, *, from_far: bool = False
) -> list[tuple[int, int]]:
    """The cells that a policy visits from the start, or from that of the far cliff, if no wind blows."""
    config = config or Config()
    cells = [(config.rows - 1, 0 if from_far else config.far_columns)]
    for time in range(config.time_limit):
        *_, calm = _outcomes(cells[-1], policy_table[(time, *cells[-1])], config)
        cells.append(calm.cell)
        if calm.done:
            break
    return cells


def path_kind(policy_table: PolicyTable, config: Config | None = None, *, from_far: bool = False) -> str:
    """Which path a policy takes to the goal: "risky" along the ledge, "safe" above it, or "none"."""
    config = config or Config()
    cells = walk(policy_table, config, from_far=from_far)
    if cells[-1] != (config.rows - 1, config.width - 1):
        return "none"
    return "risky" if any(is_ledge(cell, config) for cell in cells) else "safe"


def _outcomes(cell: tuple[int, ...], action: Any, config: Config) -> list[Outcome]:
    """All outcomes of an action; the last one is that without wind."""
    row, column = cell
    bottom, goal = config.rows - 1, config.width - 1
    down, right = MOVES[action]
    leftmost = config.far_columns if column >= config.far_columns else 0
    target = (min(max(row + down, 0), bottom), min(max(column + right, leftmost), goal))
    fall = config.step_reward + config.fall_reward
    if is_ledge(cell, config) and action == DOWN:
        return [Outcome(1.0, fall, (row, column), done=True)]
    if target == (bottom, goal):
        return [Outcome(1.0, config.step_reward + config.goal_reward, target, done=True)]
    calm = Outcome(1.0, config.step_reward, target, done=False)
    if is_ledge(target, config):
        wind = wind_at(target, config)
        return [Outcome(wind, fall, target, done=True), calm._replace(probability=1 - wind)]
    return [calm]
