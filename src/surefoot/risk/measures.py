"""Risk measures, one a function: beliefs and numbers in, one value per action out."""

from typing import Any

from jaxtyping import Array, Float

from surefoot.errors import UserError
from surefoot.types import Beliefs

Values = Float[Array, "*batch A"]


def mean(beliefs: Beliefs) -> Values:
    """The expected return: neutral to risk."""
    return beliefs.mean


def mean_sd(beliefs: Beliefs, risk_aversion: Any) -> Values:
    """Mean less risk aversion (lambda) times the aleatoric standard deviation (Algorithm 1)."""
    if beliefs.aleatoric is None:
        raise UserError("risk: got mean-sd for an agent without aleatoric uncertainty, accepted: mean")
    return beliefs.mean - risk_aversion * beliefs.aleatoric
