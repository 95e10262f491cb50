"""Recalibration on held-out episodes: fitted on one half, judged on the other."""

import numpy as np
from scipy.special import ndtr

from surefoot import recalibration
from surefoot.audit.aleatoric import CENTRAL, CLAIMED, coverage, coverage_claim, levels_of, scores_of
from surefoot.audit.evidence import Evidence
from surefoot.audit.section import Section
from surefoot.recalibration import Recalibration
from surefoot.statistics import Estimate

TITLE = "Recalibration"


def recalibrate(evidence: Evidence, seed: int) -> tuple[Recalibration | None, Section]:
    """The map of quantile levels fitted on every second episode, and coverage on the others."""
    beliefs = evidence.beliefs
    learned = beliefs.quantiles if beliefs.raw_quantiles is None else beliefs.raw_quantiles
    if learned is None:
        return None, Section(
            "recalibration", TITLE, not_applicable=("this agent has no quantiles to recalibrate",)
        )
    is_fitted_on = np.arange(evidence.episodes) % 2 == 0
    scores = scores_of(evidence, learned, seed)
    before = ndtr(scores)
    made = recalibration.fit(
        evidence.subject.levels, scores[is_fitted_on].reshape(int(is_fitted_on.sum()), -1)
    )
    after = levels_of(evidence, recalibration.apply(made, learned), seed)
    rows: dict[str, Estimate] = {}
    for part in CENTRAL:
        rows[f"coverage of the central {part:.0%} interval, before"] = coverage(before[~is_fitted_on], part)
        rows[f"coverage of the central {part:.0%} interval, after"] = coverage(after[~is_fitted_on], part)
    return made, Section(
        "recalibration",
        TITLE,
        text=(
            f"A monotone map of quantile levels, fitted on {made.episodes} episodes (conformal: an episode "
            f"is one observation) and judged on the other {(~is_fitted_on).sum()}. It is saved with the "
            "model, whose beliefs have recalibrated quantiles from now on; means and variances stay.",
        ),
        rows=rows,
        claims=(coverage_claim(coverage(after[~is_fitted_on], CLAIMED), ", recalibrated"),),
        data=made.as_json(),
    )
