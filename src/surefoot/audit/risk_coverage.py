"""What is gained by acting only where the agent is sure."""

import numpy as np

from surefoot.audit.epistemic import total_sd
from surefoot.audit.evidence import Evidence, Floats, over_episodes
from surefoot.audit.section import Section
from surefoot.figures import audit_risk_coverage as figure
from surefoot.statistics import Estimate

TITLE = "Risk and coverage: acting only where it is sure"
COVERAGES = (0.5, 0.8)
"""Parts of the states in which the agent acts, that are reported."""


def measure(evidence: Evidence) -> Section:
    """Errors and overestimates of values, where the agent acts only in its surest states."""
    epistemic = evidence.beliefs.epistemic
    if epistemic is None:
        return Section("risk_coverage", TITLE, not_applicable=("this agent has no epistemic uncertainty",))
    excess = evidence.beliefs.mean - evidence.returns.mean(axis=-1)
    rows = dict[str, Estimate]()
    for part in (*COVERAGES, 1.0):
        where = "in all states" if part == 1 else f"in the surest {part:.0%} of states"
        rows[f"mean squared error {where}"] = selective(epistemic, evidence.squared_error, part)
        rows[f"believed less actual return {where}"] = selective(epistemic, excess, part)
    grid = np.linspace(0.1, 1, 19)
    orders = {"epistemic": epistemic} | ({} if (total := total_sd(evidence)) is None else {"total": total})
    curves = {
        name: np.array([_kept_mean(order.ravel(), evidence.squared_error.ravel(), part) for part in grid])
        for name, order in orders.items()
    }
    return Section(
        "risk_coverage",
        TITLE,
        text=(
            "Coverage is the part of the states in which the agent acts, the surest ones; in the others it "
            "hands over.",
        ),
        rows=rows,
        figure=figure.draw(
            {
                "coverage": grid,
                "curves": curves,
                "in_all": float(evidence.squared_error.mean()),
                "episodes": evidence.episodes,
            }
        ),
    )


def selective(order_by: Floats, values: Floats, part: float) -> Estimate:
    """The mean of values in the states lowest in `order_by`."""
    return over_episodes(
        lambda chosen: _kept_mean(order_by[chosen].ravel(), values[chosen].ravel(), part), len(values)
    )


def _kept_mean(order_by: Floats, loss: Floats, part: float) -> float:
    kept = np.argsort(order_by, kind="stable")[: max(1, round(part * len(loss)))]
    return float(loss[kept].mean())
