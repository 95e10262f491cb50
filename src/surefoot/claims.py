"""Claims of the paper, with what was measured and the verdict that follows."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from surefoot.text import finite_or_none
from surefoot.types import Interval


class Verdict(StrEnum):
    """Whether a claim holds, by what was measured."""

    HOLDS = "holds"
    FAILS = "fails"
    UNDECIDED = "undecided"


class Criterion(NamedTuple):
    """The condition for a claim to hold, as text and as a function of the measured interval."""

    text: str
    verdict_of: Callable[[Interval], Verdict]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One checkable sentence of the paper, and what was measured."""

    name: str
    """What was measured, in short."""
    paper: str
    """The sentence of the paper."""
    measured: float
    interval: Interval | None
    """Confidence interval of the measurement; None if there were too few repetitions for one."""
    criterion: str
    """The condition for the claim to hold."""
    verdict: Verdict
    exact: bool = False
    """Whether it was computed rather than estimated, so that a short run decides it as well as a long one."""

    def undecided(self) -> "Claim":
        """The claim with the verdict that nothing can be concluded from its measurement."""
        return replace(self, verdict=Verdict.UNDECIDED)

    def as_json(self) -> dict[str, Any]:
        """The claim as `summary.json` contains it; a number that is not finite becomes null."""
        fields = asdict(self)
        fields["measured"] = finite_or_none(self.measured)
        if self.interval is not None:
            fields["interval"] = [finite_or_none(end) for end in self.interval]
        return fields


def claim(
    name: str,
    *,
    paper: str,
    measured: float,
    interval: Interval | None,
    criterion: Criterion,
) -> Claim:
    """A claim with its verdict, which is undecided without an interval or with NaN in it."""
    decidable = interval is not None and not any(math.isnan(end) for end in interval)
    return Claim(
        name=name,
        paper=paper,
        measured=measured,
        interval=interval,
        criterion=criterion.text,
        verdict=criterion.verdict_of(interval) if decidable and interval else Verdict.UNDECIDED,
    )


def exact_claim(name: str, *, paper: str, measured: float, criterion: Criterion) -> Claim:
    """A claim about a quantity that was computed, not estimated."""
    made = claim(name, paper=paper, measured=measured, interval=(measured, measured), criterion=criterion)
    return replace(made, exact=True)


def between(low: float, high: float) -> Criterion:
    """A claim holds if all of its interval lies in [low, high], and fails if none of it does."""

    def verdict_of(interval: Interval) -> Verdict:
        if low <= interval[0] and interval[1] <= high:
            return Verdict.HOLDS
        if interval[1] < low or high < interval[0]:
            return Verdict.FAILS
        return Verdict.UNDECIDED

    return Criterion(f"{low:.3g} to {high:.3g}", verdict_of)


def above(bound: float) -> Criterion:
    """A claim holds if its interval lies above the bound, and fails if it lies below."""

    def verdict_of(interval: Interval) -> Verdict:
        if interval[0] > bound:
            return Verdict.HOLDS
        return Verdict.FAILS if interval[1] < bound else Verdict.UNDECIDED

    return Criterion(f"> {bound:g}", verdict_of)


def below(bound: float) -> Criterion:
    """A claim holds if its interval lies below the bound, and fails if it lies above."""
    mirrored = above(-bound)
    return Criterion(f"< {bound:g}", lambda interval: mirrored.verdict_of((-interval[1], -interval[0])))


def recovers(truth: float, precision: float) -> Criterion:
    """A claim holds if its interval is narrow and contains the exact value, and fails if it excludes it.

    Narrow means at most `precision` to either side: otherwise a vague measurement would confirm anything.
    """

    def verdict_of(interval: Interval) -> Verdict:
        if not interval[0] <= truth <= interval[1]:
            return Verdict.FAILS
        if interval[1] - interval[0] > 2 * precision:
            return Verdict.UNDECIDED
        return Verdict.HOLDS

    return Criterion(f"{truth:.3g} in it, ± {precision:.2g}", verdict_of)
