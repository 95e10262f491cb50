"""A noisy chain: at every state, a certain reward or a noisy one that is a little higher on average.

The exact standard deviation of the return grows with the square root of the states that are left, so that an
agent whose bootstrapped distributions shrink or spread shows it at the start.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from surefoot.envs import tabular
from surefoot.envs.tabular import Outcome, Table, require_noise
from surefoot.errors import require, require_whole_number
from surefoot.types import Environment

CERTAIN, NOISY = range(2)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Parameters of the noisy chain."""

    length: int = 5
    """States."""
    bonus: float = 0.2
    """Mean reward of the noisy action; that of the certain one is 0."""
    noise: float = 1.0
    """Standard deviation of the noisy reward, which is above or below its mean by as much."""

    def __post_init__(self) -> None:
        """Refuse parameters outside their bounds."""
        require_whole_number("length", self.length, 1)
        require_noise(self.noise)
        require("bonus", self.bonus, math.isfinite(self.bonus), "finite numbers")


@lru_cache
def make(config: Config | None = None) -> Environment:
    """The noisy chain as an environment in JAX."""
    return tabular.make(table(config))


def table(config: Config | None = None) -> Table:
    """Outcomes of every state and action."""
    config = config or Config()

    def outcomes(state: int, action: int) -> list[Outcome]:
        ahead = state + 1 if state + 1 < config.length else None
        if action == CERTAIN:
            return [Outcome(1.0, 0.0, ahead)]
        return [Outcome(0.5, config.bonus + sign * config.noise, ahead) for sign in (1, -1)]

    return {
        (state, action): outcomes(state, action)
        for state in range(config.length)
        for action in (CERTAIN, NOISY)
    }
