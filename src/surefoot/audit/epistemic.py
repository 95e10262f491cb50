"""Whether epistemic uncertainty ranks the errors of believed values, and whether it falls with visits."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from surefoot.audit.caveats import EpistemicKind
from surefoot.audit.evidence import Evidence, Floats, over_episodes
from surefoot.audit.section import Section
from surefoot.audit.visits import counts_of
from surefoot.claims import Claim, above, claim
from surefoot.figures import audit_epistemic as figure
from surefoot.statistics import Estimate

TITLE = "Epistemic: does it rank the errors?"
MEANING = {
    EpistemicKind.ONE_STEP: "One-step epistemic uncertainty: how well the target of a state is learned.",
    EpistemicKind.TOTAL: "Total epistemic uncertainty: what is unknown of later states reaches earlier ones.",
    EpistemicKind.NONE: "",
    EpistemicKind.UNKNOWN: "Epistemic uncertainty of an agent of one's own.",
}

CLAIMED = {
    "return": "Where the agent is less sure, its values are further from the returns.",
    "one-step": "Where the agent is less sure, its values are further from the targets of learning.",
}


def measure(evidence: Evidence) -> Section:
    """Spearman's correlation, sparsification, and visits."""
    epistemic = evidence.beliefs.epistemic
    if epistemic is None:
        return Section(
            "epistemic", TITLE, not_applicable=("this agent has no epistemic uncertainty to rank by",)
        )
    errors = {"return": evidence.squared_error, "one-step": evidence.one_step_squared_error}
    rows, claims, total = dict[str, Estimate](), list[Claim](), total_sd(evidence)
    for name, error in errors.items():
        rows[f"Spearman's correlation of epistemic sd and {name} error"] = spearman(epistemic, error)
        gain = rows[f"sparsification gain, {name} error"] = sparsification_gain(epistemic, error)
        if name == "return" or evidence.subject.epistemic_kind is EpistemicKind.ONE_STEP:
            claims.append(
                claim(
                    f"epistemic sd ranks {name} errors: sparsification gain",
                    paper=CLAIMED[name],
                    **gain._asdict(),
                    criterion=above(0),
                )
            )
    if total is not None:
        rows["sparsification gain of the total sd (epistemic and aleatoric), return error"] = (
            sparsification_gain(total, evidence.squared_error)
        )
    missing: tuple[str, ...] = ()
    counts = counts_of(evidence)
    if isinstance(counts, str):
        missing = (f"visits: {counts}",)
    else:
        rows["Spearman's correlation of epistemic sd and visits (falls: below 0)"] = spearman(
            epistemic, counts
        )
    return Section(
        "epistemic",
        TITLE,
        text=(
            MEANING[evidence.subject.epistemic_kind],
            "The return error is the squared distance of the believed mean from the expected return of a "
            "state"
            + (
                ", estimated without bias from two halves of its returns. "
                if evidence.has_repeats
                else " (here from a single return: chance is part of the error). "
            )
            + "The one-step error is its distance from the expectation of the first reward and the value "
            "that is believed after it: what one-step uncertainty is about.",
            "Sparsification leaves out the states with the highest uncertainty first and follows the mean "
            "error of those that remain. The gain is 0 by chance, and 1 as if errors were known.",
        ),
        rows=rows,
        claims=tuple(claims),
        figure=figure.draw(figure_data(epistemic, errors, total)),
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


def figure_data(epistemic: Floats, errors: Mapping[str, Floats], total: Floats | None) -> dict[str, Any]:
    """Sparsification curves for each kind of error, and the pairs of uncertainty and error."""
    orders = {"epistemic": epistemic} | ({} if total is None else {"total": total})
    return {
        "curves": {
            name: {
                **{by: remaining_error(order.ravel(), error.ravel()) for by, order in orders.items()},
                "best order": remaining_error(error.ravel(), error.ravel()),
            }
            for name, error in errors.items()
        },
        "epistemic": epistemic.ravel(),
        "error": errors["return"].ravel(),
        "episodes": len(epistemic),
    }
