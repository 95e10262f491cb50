"""Does epistemic uncertainty rank the errors of the believed values, and does it fall with visits?"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from surefoot.audit.caveats import EpistemicKind
from surefoot.audit.evidence import Evidence, Floats, over_episodes
from surefoot.audit.section import Section
from surefoot.audit.visits import counts_of
from surefoot.claims import above, claim
from surefoot.figures import audit_epistemic as figure
from surefoot.statistics import Estimate

TITLE = "Epistemic: does it rank the errors?"
MEANING = {
    EpistemicKind.ONE_STEP: "One-step epistemic uncertainty: how well the target of a state is learned.",
    EpistemicKind.TOTAL: "Total epistemic uncertainty: what is unknown of later states reaches earlier ones.",
    EpistemicKind.NONE: "",
    EpistemicKind.UNKNOWN: "Epistemic uncertainty of an agent of one's own.",
}


def measure(evidence: Evidence) -> Section:
    """Spearman's correlation, sparsification, and visits."""
    epistemic = evidence.beliefs.epistemic
    if epistemic is None:
        return Section(
            "epistemic", TITLE, not_applicable=("this agent has no epistemic uncertainty to rank by",)
        )
    error = evidence.error
    gain = sparsification_gain(epistemic, error)
    rows = {
        "Spearman's correlation of epistemic sd and error": spearman(epistemic, error),
        "sparsification gain: 0 by chance, 1 as if errors were known": gain,
    }
    total = total_sd(evidence)
    if total is not None:
        rows["sparsification gain of the total sd (epistemic and aleatoric)"] = sparsification_gain(
            total, error
        )
    missing: tuple[str, ...] = ()
    counts = counts_of(evidence)
    if isinstance(counts, str):
        missing = (f"visits: {counts}",)
    else:
        rows["Spearman's correlation of epistemic sd and visits (falls: below 0)"] = spearman(
            epistemic, counts
        )
    made = claim(
        "epistemic sd ranks errors: sparsification gain",
        paper="Where the agent is less sure, its values are more wrong.",
        **gain._asdict(),
        criterion=above(0),
    )
    return Section(
        "epistemic",
        TITLE,
        text=(
            MEANING[evidence.subject.epistemic_kind],
            "The error is the distance of the believed mean from the mean of the returns of a state"
            + (
                "."
                if evidence.has_repeats
                else ", here a single return, so that chance is part of the error."
            ),
            "Sparsification leaves out the states with the highest uncertainty first and follows the mean "
            "error of those that remain. The gain is the part of the way from chance to the best order.",
        ),
        rows=rows,
        claims=(made,),
        figure=figure.draw(figure_data(epistemic, error, total)),
        not_applicable=missing,
    )


def total_sd(evidence: Evidence) -> Floats | None:
    """The standard deviation of the return with both uncertainties, as far as the agent has both."""
    epistemic, aleatoric = evidence.beliefs.epistemic, evidence.beliefs.aleatoric_variance
    if epistemic is None or aleatoric is None:
        return None
    return np.sqrt(epistemic**2 + np.maximum(aleatoric, 0))


def spearman(one: Floats, other: NDArray[Any]) -> Estimate:
    """Spearman's rank correlation over states; NaN if one side is constant."""

    def correlation(chosen: NDArray[Any]) -> float:
        ranks = [stats.rankdata(each[chosen].ravel()) for each in (one, other)]
        if min(np.ptp(each) for each in ranks) == 0:
            return float("nan")
        return float(np.corrcoef(*ranks)[0, 1])

    return over_episodes(correlation, len(one))


def remaining_error(order_by: Floats, error: Floats) -> Floats:
    """The mean error of the states that remain as those highest in `order_by` are left out, none first.

    States that are equal there are left out in no particular order: each counts as their mean.
    """
    values, group = np.unique(order_by, return_inverse=True)
    size = np.bincount(group, minlength=len(values))
    means = np.bincount(group, error, minlength=len(values)) / size
    ascending = np.repeat(means, size)
    return (np.cumsum(ascending) / np.arange(1, len(ascending) + 1))[::-1]


def sparsification_gain(order_by: Floats, error: Floats) -> Estimate:
    """1 less the area under the sparsification error curve (AUSE) over that of an order by chance."""

    def gain(chosen: NDArray[Any]) -> float:
        errors = error[chosen].ravel()
        best = remaining_error(errors, errors).mean()
        by_chance = errors.mean() - best
        if by_chance <= 0:
            return float("nan")
        found = remaining_error(order_by[chosen].ravel(), errors).mean() - best
        return float(1 - found / by_chance)

    return over_episodes(gain, len(error))


def figure_data(epistemic: Floats, error: Floats, total: Floats | None) -> dict[str, Any]:
    """Sparsification curves, and the pairs of uncertainty and error."""
    curves = {
        "epistemic": remaining_error(epistemic.ravel(), error.ravel()),
        "best order": remaining_error(error.ravel(), error.ravel()),
    }
    if total is not None:
        curves["total"] = remaining_error(total.ravel(), error.ravel())
    return {
        "curves": curves,
        "by_chance": float(error.mean()),
        "epistemic": epistemic.ravel(),
        "error": error.ravel(),
        "episodes": len(error),
    }
