"""Attitudes to risk: parsed once from text such as `mean-sd:0.5`, then passed on as an object."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from surefoot.errors import UserError, did_you_mean
from surefoot.registry import Registry
from surefoot.risk import measures
from surefoot.types import Action, Beliefs, Policy, RandomKey


class RiskKind(NamedTuple):
    """An entry of the registry of risk measures.

    - `function(beliefs, *numbers)`: the value of each action.
    - `accepts(*numbers)`: whether the numbers are in range.
    - `usage`: how it is written, with an example.
    """

    function: Callable[..., Float[Array, "*batch A"]]
    accepts: Callable[..., bool]
    usage: str

    @property
    def parameters(self) -> int:
        """How many numbers follow its name."""
        return len(inspect.signature(self.function).parameters) - 1


RISK_MEASURES = Registry(
    "risk",
    RiskKind,
    {
        "mean": RiskKind(measures.mean, lambda: True, "mean"),
        "mean-sd": RiskKind(
            measures.mean_sd,
            lambda risk_aversion: risk_aversion >= 0,
            "mean-sd:LAMBDA with a number from 0 (such as mean-sd:0.5)",
        ),
    },
)


@dataclass(frozen=True)
class NamedRiskMeasure:
    """A risk measure with its numbers; its text is what `parse_risk` reads."""

    name: str
    numbers: tuple[float, ...] = ()

    @property
    def kind(self) -> RiskKind:
        """The registry's entry."""
        return RISK_MEASURES.resolve(self.name)

    def __call__(self, beliefs: Beliefs) -> Float[Array, "*batch A"]:
        """The value of each action."""
        return self.kind.function(beliefs, *self.numbers)

    def __str__(self) -> str:
        return ":".join([self.name, *(f"{number:.17g}" for number in self.numbers)])


MEAN = NamedRiskMeasure("mean")
"""Neutral to risk."""


def parse_risk(text: Any) -> NamedRiskMeasure:
    """The risk measure that a text such as `mean`, `mean-sd:0.5` or `package.module:name:0.1` names."""
    if not isinstance(text, str):
        raise UserError(f"risk: got {text!r}, accepted: {_accepted()}")
    name, *words = text.split(":")
    if name not in RISK_MEASURES:
        if not words or not _is_module(name):
            raise UserError(f"risk: got {text}, accepted: {_accepted()}{did_you_mean(name, RISK_MEASURES)}")
        name, words = f"{name}:{words[0]}", words[1:]  # A user's own begins with its module.
    kind, numbers = RISK_MEASURES.resolve(name), _numbers(words)
    if numbers is None or len(numbers) != kind.parameters or not kind.accepts(*numbers):
        raise UserError(f"risk: got {text}, accepted: {kind.usage if ':' in name else _accepted()}")
    # Without aversion it is the mean, which every agent has.
    return MEAN if (name, numbers) == ("mean-sd", (0.0,)) else NamedRiskMeasure(name, numbers)


def risk_from(risk: str | NamedRiskMeasure | None, risk_aversion: Any) -> NamedRiskMeasure | None:
    """The risk measure given as an object, as text, or as a risk aversion; None where nothing is given."""
    if risk is not None and risk_aversion is not None:
        raise UserError(f"risk: got {risk} and risk_aversion {risk_aversion}, accepted: one of the two")
    if isinstance(risk, NamedRiskMeasure):
        return risk
    if risk_aversion is None:
        return None if risk is None else parse_risk(risk)
    is_number = isinstance(risk_aversion, int | float) and not isinstance(risk_aversion, bool)
    if not is_number or not 0 <= risk_aversion < math.inf:
        raise UserError(f"risk_aversion: got {risk_aversion}, accepted: numbers from 0")
    return parse_risk(f"mean-sd:{float(risk_aversion):.17g}")


def best_action(beliefs: Beliefs, risk: Callable[[Beliefs], Any] = measures.mean) -> Action:
    """The action of the highest value by a risk measure."""
    return jnp.argmax(risk(beliefs), axis=-1)


def greedy(risk: Callable[[Beliefs], Any] = measures.mean) -> Policy:
    """The policy that always takes the best action by a risk measure."""

    def policy(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
        del step_key, episode_key, step
        return best_action(beliefs, risk)

    return policy


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _numbers(words: Sequence[str]) -> tuple[float, ...] | None:
    try:
        numbers = tuple(float(word) for word in words)
    except ValueError:
        return None
    return numbers if all(math.isfinite(number) for number in numbers) else None


def _accepted() -> str:
    usages = [kind.usage for kind in RISK_MEASURES.values()]
    return f"{', '.join(usages)}, or package.module:name"
