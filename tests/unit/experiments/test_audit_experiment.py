"""The experiment on the audit: claims from made-up tables, plans, and its figure."""

import numpy as np
import pytest

from surefoot.audit import exact
from surefoot.claims import Verdict
from surefoot.experiments import audit
from surefoot.experiments.audit import CALIBRATED, CANDIDATES, OWN, PAPER, Config
from surefoot.figures import audit_cliff


def table_of(**by_candidate):
    """Five seeds, logged at three steps; the first step is early and says nothing."""
    columns = {name: [] for name in ("candidate", "seed", "step", *audit.MEASURES)}
    for candidate, values in by_candidate.items():
        for seed in range(5):
            for step in (100, 9_000, 10_000):
                row = {"candidate": candidate, "seed": seed, "step": step, **values}
                for name, column in columns.items():
                    value = row.get(name, 0.0)
                    is_early_measure = step < 8_000 and name in audit.MEASURES and not np.isnan(value)
                    column.append(77.0 if is_early_measure else value)
    return {name: np.array(column) for name, column in columns.items()}


RIGHT = {"ledge_unbiased": 2.8, "coverage": 0.8, "error_unbiased": 0.1, "error_independent-target": 0.4}
WRONG = {"ledge_unbiased": 2.3, "coverage": 0.5}


def test_claims_follow_the_last_steps_of_each_candidate():
    table = table_of(**{PAPER: WRONG, CALIBRATED: RIGHT, OWN: RIGHT})
    found = {claim.name: claim for claim in audit.claims(table)}
    assert found[f"aleatoric sd of stepping onto the ledge, {PAPER}"].verdict == Verdict.FAILS
    assert found[f"coverage of the central 80% interval, {PAPER}"].verdict == Verdict.FAILS
    for name in (CALIBRATED, OWN):
        assert found[f"aleatoric sd of stepping onto the ledge, {name}"].verdict == Verdict.HOLDS
        assert found[f"coverage of the central 80% interval, {name}"].verdict == Verdict.HOLDS
    difference = found["error of the sd: independent targets less shared"]
    assert difference.measured == pytest.approx(0.3)
    assert found["exact sd of the return along the ledge"].verdict == Verdict.HOLDS


@pytest.mark.parametrize("candidate", CANDIDATES)
def test_runs_are_those_of_the_cliff_with_the_probe_of_the_audit(candidate):
    settings = audit.planned_run(Config(), candidate, 3).settings
    assert settings["probe"] == "surefoot.audit.exact:look"
    assert settings["normalise"] == (candidate != PAPER)
    assert settings["levels"] == ("paper" if candidate == PAPER else "midpoints")
    assert settings["targets"] == ("own" if candidate == OWN else "shared")
    assert settings["risk"] == "mean"


def test_the_figure_has_a_column_for_each_candidate_and_leaves_out_what_was_not_measured():
    table = table_of(**{CALIBRATED: {**RIGHT, "error_independent-target": np.nan}, OWN: RIGHT})
    figure = audit_cliff.draw(table)
    errors = figure.axes[:2]
    assert [axes.get_title(loc="left") for axes in errors] == [CALIBRATED, OWN]
    labels = [len(axes.get_lines()) for axes in errors]
    assert labels == [2, 3]
    assert set(exact.ESTIMATORS) == set(audit_cliff.COLORS)
