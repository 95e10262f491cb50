"""What is gained by acting only where the agent is sure."""

import numpy as np
from numpy.typing import NDArray

from surefoot.audit.epistemic import total_sd
from surefoot.audit.evidence import Evidence, Floats, over_episodes
from surefoot.audit.section import Section
from surefoot.figures import audit_risk_coverage as figure
from surefoot.statistics import Estimate

TITLE = "Risk and coverage: acting only where it is sure"
COVERAGES = (0.5, 0.8)
"""Parts of the states in which the agent acts, that are reported."""


def measure(evidence: Evidence) -> Section:
    """The error of values and the disappointment, where the agent acts only in its surest states."""
    epistemic = evidence.beliefs.epistemic
    if epistemic is None:
        return Section("risk_coverage", TITLE, not_applicable=("this agent has no epistemic uncertainty",))
    disappointment = np.maximum(evidence.beliefs.mean - evidence.returns.mean(axis=-1), 0)
    rows = dict[str, Estimate]()
    for part in COVERAGES:
        rows[f"error in the surest {part:.0%} of states / in all"] = selective(
            epistemic, evidence.error, part
        )
        rows[f"return missed in the surest {part:.0%} of states / in all"] = selective(
            epistemic, disappointment, part
        )
    grid = np.linspace(0.1, 1, 19)
    orders = {"epistemic": epistemic} | ({} if (total := total_sd(evidence)) is None else {"total": total})
    curves = {
        name: np.array([_kept_mean(order.ravel(), evidence.error.ravel(), part) for part in grid])
        for name, order in orders.items()
    }
    return Section(
        "risk_coverage",
        TITLE,
        text=(
            "Coverage is the part of the states in which the agent acts, the surest ones; in the others it "
            "hands over. The return missed is how far returns stay behind what was believed, where they do.",
        ),
        rows=rows,
        figure=figure.draw(
            {
                "coverage": grid,
                "curves": curves,
                "in_all": float(evidence.error.mean()),
                "episodes": evidence.episodes,
            }
        ),
    )


def selective(order_by: Floats, loss: Floats, part: float) -> Estimate:
    """The mean loss in the states lowest in `order_by`, over that in all states."""

    def ratio(chosen: NDArray[np.int64]) -> float:
        losses = loss[chosen].ravel()
        if losses.mean() <= 0:
            return float("nan")
        return _kept_mean(order_by[chosen].ravel(), losses, part) / float(losses.mean())

    return over_episodes(ratio, len(loss))


def _kept_mean(order_by: Floats, loss: Floats, part: float) -> float:
    kept = np.argsort(order_by, kind="stable")[: max(1, round(part * len(loss)))]
    return float(loss[kept].mean())
