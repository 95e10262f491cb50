"""What an agent would choose: from its beliefs about the actions and an attitude, to an action."""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from surefoot.errors import UserError, require
from surefoot.estimators import quantile_variance
from surefoot.program_cache import cached_program
from surefoot.risk import MEAN, RISK_MEASURES, NamedRiskMeasure, RiskKind, parse_risk
from surefoot.types import Beliefs

ESTIMATORS = ("own", "biased")
"""The agent's own aleatoric variance, or that of the quantiles of its value network (Proposition 2.1)."""
MAX_EXPLORATION = 1e6


class Attitude(NamedTuple):
    """How beliefs become an action: the settings of the page's sliders."""

    risk: NamedRiskMeasure = MEAN
    exploration: float = 0.0
    """The factor of the epistemic variance in Thompson sampling (beta); for agents that have none, the
    probability of a random action."""
    estimator: str = "own"

    @classmethod
    def parsed(cls, risk: str, exploration: float, estimator: str) -> "Attitude":
        """The attitude that a page asked for, once it is known to be one."""
        require("exploration", exploration, 0 <= exploration <= MAX_EXPLORATION, "numbers from 0")
        require("estimator", estimator, estimator in ESTIMATORS, ", ".join(ESTIMATORS))
        name = risk.split(":")[0]
        # Only what is registered: a page must not make the server import a module that it names.
        require("risk", risk, name in RISK_MEASURES, ", ".join(RISK_MEASURES))
        return cls(parse_risk(risk), exploration, estimator)


class Choice(NamedTuple):
    """The value of each action by the risk measure, the best one, and the one that is taken."""

    values: NDArray[np.floating[Any]]
    greedy: int
    chosen: int


def biased_variance(beliefs: Beliefs) -> NDArray[np.floating[Any]] | None:
    """The variance (n - 1) of the value network's quantiles of each action."""
    if beliefs.quantiles is None:
        return None
    quantiles = np.asarray(beliefs.quantiles)
    count = quantiles.shape[-1]
    return quantile_variance(quantiles) * quantiles.dtype.type(count / (count - 1))


def with_estimator(beliefs: Beliefs, estimator: str) -> Beliefs:
    """The beliefs with the aleatoric variance of this estimator, where the agent has quantiles."""
    biased = biased_variance(beliefs) if estimator == "biased" else None
    return beliefs if biased is None else beliefs._replace(aleatoric_variance=biased)


def choose(beliefs: Beliefs, attitude: Attitude, noise: np.random.Generator) -> Choice:
    """Thompson sampling under a risk measure; without exploration, the best action.

    The same random numbers serve every exploration, so that it can be raised and lowered smoothly.
    """
    seen = with_estimator(beliefs, attitude.estimator)
    values = values_by(seen, attitude.risk)
    greedy = int(np.argmax(values))
    normal, chance = noise.normal(size=values.shape), noise.random()
    if attitude.exploration == 0:
        return Choice(values, greedy, greedy)
    if seen.epistemic_variance is None:
        random_action = int(noise.integers(len(values)))
        return Choice(values, greedy, random_action if chance < attitude.exploration else greedy)
    epistemic = np.sqrt(np.maximum(np.asarray(seen.epistemic_variance), 0))
    sampled = values + np.sqrt(attitude.exploration) * epistemic * normal
    return Choice(values, greedy, int(np.argmax(sampled)))


def values_by(beliefs: Beliefs, risk: NamedRiskMeasure) -> NDArray[np.floating[Any]]:
    """The value of each action by a risk measure."""
    precision = jax.dtypes.canonicalize_dtype(float)
    numbers = tuple(np.asarray(number, precision) for number in risk.numbers)
    return np.asarray(_values_program(risk.kind)(beliefs, numbers))


@cached_program
def _values_program(kind: RiskKind) -> Callable[..., Any]:
    return jax.jit(lambda beliefs, numbers: kind.function(beliefs, *numbers))


class MeasureOption(NamedTuple):
    """A risk measure that the page offers, with numbers to begin with.

    A slider for its number goes from `neutral` to `averse`; both are None if it has none or several.
    """

    name: str
    usage: str
    example: str
    neutral: float | None
    averse: float | None


SLIDER_ENDS = (2.0, 1.0, 0.5)
"""For a measure that does not say what is averse: the first of these that it accepts."""


def measure_options(beliefs: Beliefs) -> list[MeasureOption]:
    """The registered risk measures that can be computed from beliefs such as these."""
    options = [_option(name, kind) for name, kind in RISK_MEASURES.items()]
    return [each for each in options if each is not None and _is_computable(each.example, beliefs)]


def _option(name: str, kind: RiskKind) -> MeasureOption | None:
    found = re.search(r"such as ([\w.:-]+)", kind.usage)
    example = found[1] if found else name
    try:
        numbers = parse_risk(example).numbers
    except UserError:
        return None
    neutral = averse = None
    if len(numbers) == 1 and kind.grid:
        neutral, averse = kind.grid[0], kind.grid[-1]
    elif len(numbers) == 1:
        neutral = next((start for start in (0.0, 0.01) if kind.accepts(start)), numbers[0])
        averse = next((end for end in SLIDER_ENDS if kind.accepts(end)), numbers[0])
    return MeasureOption(name, kind.usage, example, neutral, averse)


def _is_computable(risk: str, beliefs: Beliefs) -> bool:
    try:
        values_by(beliefs, parse_risk(risk))
    except (UserError, ValueError, TypeError):
        return False
    return True


def choices_by(beliefs: Beliefs, options: list[MeasureOption], estimator: str) -> list[int]:
    """The action that each of these risk measures would choose, with its example's numbers."""
    seen = with_estimator(beliefs, estimator)
    return [int(np.argmax(values_by(seen, parse_risk(each.example)))) for each in options]
