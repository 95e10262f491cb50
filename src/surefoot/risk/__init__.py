"""Attitudes to risk: parsed once from text such as `cvar:0.1`, then passed on as an object."""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from surefoot.errors import UserError, did_you_mean
from surefoot.registry import Registry
from surefoot.risk import measures
from surefoot.types import Action, Beliefs, Policy, RandomKey


class RiskKind(NamedTuple):
    """An entry of the registry of risk measures.

    - `function(beliefs, *numbers)`: the value of each action.
    - `accepts(*numbers)`: whether the numbers are in range.
    - `usage`: how it is written, with an example.
    - `grid`: numbers from the one that makes it the mean to a very averse one, for a frontier.
    - `distortion(levels, *numbers)`: the weight of so much of the lowest returns, of a distortion measure.
    """

    function: Callable[..., Float[Array, "*batch A"]]
    accepts: Callable[..., bool]
    usage: str
    grid: tuple[float, ...] = ()
    distortion: Callable[..., Float[Array, "..."]] | None = None

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
            (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0),
        ),
        "cvar": RiskKind(
            measures.cvar,
            lambda alpha: 0 < alpha <= 1,
            "cvar:ALPHA with a number above 0, up to 1 (such as cvar:0.1)",
            (1.0, 0.8, 0.6, 0.4, 0.25, 0.15, 0.1),
            measures.worst_part,
        ),
        "wang": RiskKind(
            measures.wang,
            lambda eta: math.isfinite(eta),
            "wang:ETA with a number, averse below 0 (such as wang:-0.75)",
            (0.0, -0.25, -0.5, -0.75, -1.0, -1.25, -1.5),
            measures.moved_normal,
        ),
        "entropic": RiskKind(
            measures.entropic,
            lambda beta: math.isfinite(beta),
            "entropic:BETA with a number, averse above 0 (such as entropic:0.5)",
            (0.0, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0),
        ),
        "power": RiskKind(
            measures.power,
            lambda xi: math.isfinite(xi),
            "power:XI with a number, averse below 0 (such as power:-2)",
            (0.0, -0.5, -1.0, -2.0, -3.0, -5.0, -8.0),
            measures.powers,
        ),
        "pessimism": RiskKind(
            measures.pessimism,
            lambda kappa: kappa >= 0,
            "pessimism:KAPPA with a number from 0 (such as pessimism:1)",
            (0.0, 0.25, 0.5, 1.0, 2.0, 4.0),
        ),
    },
)

MAX_WEIGHT = 0.5
"""The most that a distortion may lay on a single quantile: CVaR of N quantiles then needs alpha >= 2 / N."""


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

    def require_served_by(self, beliefs: Beliefs) -> None:
        """Refuse beliefs, or the shapes of some, that lack what it reads or are too coarse for it."""
        jax.eval_shape(self, beliefs)
        if beliefs.quantiles is None or self.kind.distortion is None:
            return
        count = beliefs.quantiles.shape[-1]
        ends = np.array([1 / count, 1 - 1 / count])
        lowest, below_highest = self.kind.distortion(ends, *self.numbers).tolist()
        weight = max(lowest, 1 - below_highest)
        if weight <= MAX_WEIGHT + 1e-6:  # Rounding, in 32 bits.
            return
        if self.name == "cvar":
            accepted = f"cvar:ALPHA from {2 / count:.3g} (2/{count}), or more quantiles"
        else:
            accepted = f"at most {MAX_WEIGHT:.0%}: a number nearer to 0, or more quantiles"
        raise UserError(
            f"risk: got {self:g} for {count} quantiles, of which one would have {weight:.0%} of the weight, "
            f"accepted: {accepted}"
        )

    def __format__(self, number_format: str) -> str:
        written = number_format or ".17g"
        return ":".join([self.name, *(format(number, written) for number in self.numbers)])

    def __str__(self) -> str:
        return format(self)


MEAN = NamedRiskMeasure("mean")
"""Neutral to risk."""


def parse_risk(text: Any) -> NamedRiskMeasure:
    """The risk measure that a text such as `mean`, `cvar:0.1` or `package.module:name:0.1` names."""
    if not isinstance(text, str):
        raise UserError(f"risk: got {text!r}, accepted: {_accepted()}")
    name, *words = text.split(":")
    if name not in RISK_MEASURES:
        if not words or not _is_module(name):
            raise UserError(f"risk: got {text}, accepted: {_accepted()}{did_you_mean(name, RISK_MEASURES)}")
        name, words = f"{name}:{words[0]}", words[1:]  # A user's own begins with its module.
    kind, numbers = RISK_MEASURES.resolve(name), _numbers(words)
    if numbers is None or len(numbers) != kind.parameters or not kind.accepts(*numbers):
        raise UserError(f"risk: got {text}, accepted: {kind.usage}")
    # Without aversion it is the mean, which every agent has.
    is_neutral = name in RISK_MEASURES and numbers == kind.grid[:1]
    return MEAN if is_neutral else NamedRiskMeasure(name, numbers)


def frontier_of(name: str) -> list[NamedRiskMeasure]:
    """A measure with numbers from the neutral one to a very averse one."""
    with_grid = [each for each, kind in RISK_MEASURES.items() if kind.grid]
    if name not in with_grid:
        raise UserError(f"risk: got {name}, accepted: {', '.join(with_grid)}{did_you_mean(name, with_grid)}")
    return [parse_risk(f"{name}:{number!r}") for number in RISK_MEASURES[name].grid]


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


def best_action(beliefs: Beliefs, risk: Callable[[Beliefs], Any] = measures.mean) -> Int[Array, "*batch"]:
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
    written = [kind.usage.split()[0] for kind in RISK_MEASURES.values()]
    return f"{', '.join(written)}, or package.module:name"
