"""A claim of the paper, what was measured, and a verdict that follows from the two alone."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from surefoot.types import Interval


class Verdict(StrEnum):
    """What the measurement says of the claim."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


class Criterion(NamedTuple):
    """When a claim holds, in words and as a function of the interval that was measured."""

    text: str
    judge: Callable[[Interval], Verdict]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One checkable sentence of the paper, beside what was measured."""

    name: str
    """What was measured, in a few words."""
    paper: str
    """The sentence of the paper."""
    measured: float
    interval: Interval | None
    """Where the true value lies, or None where repetitions were too few to say."""
    criterion: str
    """When the claim holds."""
    verdict: Verdict

    def undecided(self) -> "Claim":
        """The same measurement, from which nothing can be concluded."""
        return replace(self, verdict=Verdict.UNDECIDED)

    def as_json(self) -> dict[str, Any]:
        """The claim as `summary.json` holds it; a number that is not finite becomes null."""
        fields = asdict(self)
        fields["measured"] = _finite(self.measured)
        if self.interval is not None:
            fields["interval"] = [_finite(end) for end in self.interval]
        return fields


def claim(
    name: str,
    *,
    paper: str,
    measured: float,
    interval: Interval | None,
    criterion: Criterion,
) -> Claim:
    """Judge a measurement. Without an interval, or with NaN in it, nothing can be decided."""
    decidable = interval is not None and not any(math.isnan(end) for end in interval)
    return Claim(
        name=name,
        paper=paper,
        measured=measured,
        interval=interval,
        criterion=criterion.text,
        verdict=criterion.judge(interval) if decidable and interval else Verdict.UNDECIDED,
    )


def between(low: float, high: float) -> Criterion:
    """Holds when the whole interval lies in [low, high], fails when none of it does."""

    def judge(interval: Interval) -> Verdict:
        if low <= interval[0] and interval[1] <= high:
            return Verdict.HOLDS
        if interval[1] < low or high < interval[0]:
            return Verdict.FAILS
        return Verdict.UNDECIDED

    return Criterion(f"{low:.3g} to {high:.3g}", judge)


def above(bound: float) -> Criterion:
    """Holds when the whole interval lies above the bound; one that touches it decides nothing."""

    def judge(interval: Interval) -> Verdict:
        if interval[0] > bound:
            return Verdict.HOLDS
        return Verdict.FAILS if interval[1] < bound else Verdict.UNDECIDED

    return Criterion(f"> {bound:g}", judge)


def below(bound: float) -> Criterion:
    """Holds when the whole interval lies below the bound; one that touches it decides nothing."""
    mirrored = above(-bound)
    return Criterion(f"< {bound:g}", lambda interval: mirrored.judge((-interval[1], -interval[0])))


def recovers(truth: float, precision: float) -> Criterion:
    """Holds when the interval contains the truth and reaches no further than the precision from its middle.

    Without the second condition a vague measurement would confirm anything.
    """

    def judge(interval: Interval) -> Verdict:
        if not interval[0] <= truth <= interval[1]:
            return Verdict.FAILS
        if interval[1] - interval[0] > 2 * precision:
            return Verdict.UNDECIDED
        return Verdict.HOLDS

    return Criterion(f"{truth:.3g} in it, ± {precision:.2g}", judge)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
