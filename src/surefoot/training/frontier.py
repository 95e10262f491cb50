"""A frontier: what each degree of an attitude to risk costs in return, and what it saves, on one agent."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.risk import NamedRiskMeasure, parse_risk
from surefoot.risk.realised import realised
from surefoot.statistics import Estimate, fraction_estimate, mean_estimate
from surefoot.training.evaluation import Evaluation

TAIL = parse_risk("cvar:0.1")
"""The risk of returns that all attitudes are compared by."""

Frontier = dict[str, NDArray[Any]]
"""A row for each attitude. `attitude`, and with their intervals (`_low`, `_high`): `mean` and `cvar` of
returns; `believed` and `realised`, the attitude's own measure of discounted returns; `event_NAME`, the share
of episodes in which an event of `info` happened."""


def frontier_of_evaluations(
    attitudes: Sequence[NamedRiskMeasure], evaluate: Callable[[NamedRiskMeasure], Evaluation]
) -> Frontier:
    """One evaluation for each attitude, of the same episodes."""
    rows = [_row(attitude, evaluate(attitude)) for attitude in attitudes]
    names = list(dict.fromkeys(name for row in rows for name in row))
    # An event that an evaluation through Gymnasium does not mention did not happen in it.
    return {name: np.array([row.get(name, 0.0) for row in rows]) for name in names}


def _row(attitude: NamedRiskMeasure, found: Evaluation) -> dict[str, Any]:
    assert found.risk is not None
    estimates = {
        "mean": mean_estimate(found.returns),
        "cvar": realised(TAIL, found.returns),
        "realised": found.risk.realised,
        **{f"event_{name}": fraction_estimate(count > 0) for name, count in found.events.items()},
    }
    row: dict[str, Any] = {"attitude": f"{attitude:g}", "believed": found.risk.believed_mean}
    for name, estimate in estimates.items():
        row |= _with_ends(name, estimate)
    return row


def _with_ends(name: str, estimate: Estimate | None) -> dict[str, float]:
    measured, interval = estimate or (np.nan, None)
    low, high = interval or (np.nan, np.nan)
    return {name: measured, f"{name}_low": low, f"{name}_high": high}
