"""A two-armed bandit with delayed noise: after a choice, a corridor without rewards, and then the payment.

One arm pays a certain amount, the other more on average, but noisily. An agent must carry both the noise and
its absence back through the corridor.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from surefoot.envs import tabular
from surefoot.envs.tabular import Outcome, Table, require_noise
from surefoot.errors import require, require_whole_number
from surefoot.types import Environment

SAFE, RISKY = range(2)


@dataclass(frozen=True, kw_only=True)
class Config:
    """Parameters of the delayed bandit."""

    delay: int = 4
    """Steps of the corridor, which are all alike whatever the action."""
    safe_payment: float = 1.0
    """What the safe arm pays."""
    risky_payment: float = 1.5
    """What the risky arm pays on average."""
    noise: float = 2.0
    """Standard deviation of the risky payment, which is above or below its mean by as much."""

    def __post_init__(self) -> None:
        """Refuse parameters outside their bounds."""
        require_whole_number("delay", self.delay, 1)
        require_noise(self.noise)
        for name in ("safe_payment", "risky_payment"):
            payment = getattr(self, name)
            require(name, payment, math.isfinite(payment), "finite numbers")


@lru_cache
def make(config: Config | None = None) -> Environment:
    """The delayed bandit as an environment in JAX."""
    return tabular.make(table(config))


def table(config: Config | None = None) -> Table:
    """Outcomes of every state and action: state 0, then the safe corridor, then the risky one."""
    config = config or Config()
    first = {SAFE: 1, RISKY: 1 + config.delay}
    payments = {
        SAFE: [Outcome(1.0, config.safe_payment, None)],
        RISKY: [Outcome(0.5, config.risky_payment + sign * config.noise, None) for sign in (1, -1)],
    }
    found = {(0, arm): [Outcome(1.0, 0.0, first[arm])] for arm in (SAFE, RISKY)}
    for arm in (SAFE, RISKY):
        for i in range(config.delay):
            state = first[arm] + i
            ahead = [Outcome(1.0, 0.0, state + 1)] if i + 1 < config.delay else payments[arm]
            found |= {(state, action): ahead for action in (SAFE, RISKY)}
    return found
