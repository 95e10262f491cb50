"""The appendix's search for hyperparameters: its plan, and its claims on synthetic scores."""

import numpy as np
import pytest

from surefoot.claims import Verdict
from surefoot.experiments import hyperparameter_search as search
from surefoot.experiments.hyperparameter_search import CANDIDATES
from surefoot.figures import hyperparameter_search as figure

SEEDS = 8


def test_the_candidates_are_those_of_the_appendix():
    assert len([each for each in CANDIDATES if each.agent == "qrdqn"]) == 2 * 2 * 3
    betas = [dict(each.settings)["exploration"] for each in CANDIDATES if each.agent == "uadqn"]
    assert betas == [0.5, 0.2, 0.1, 0.04]
    names = {search.planned_run(each, 0, 10).name for each in CANDIDATES}
    assert len(names) == len(CANDIDATES)


def scores(mean, spread):
    """Scores with a mean and a spread by final epsilon; those of UA-DQN do not matter here."""
    rng = np.random.default_rng(0)
    found = {}
    for each in CANDIDATES:
        epsilon = dict(each.settings).get("final_epsilon", 0.1)
        found[each] = mean.get(epsilon, 10.0) + spread.get(epsilon, 1.0) * rng.normal(size=SEEDS)
    return found


def verdicts(mean=None, spread=None):
    return [each.verdict for each in search.claims(scores(mean or {}, spread or {}))]


def test_the_claims_hold_for_the_results_that_the_appendix_describes():
    assert verdicts(spread={0.03: 0.3}) == [Verdict.HOLDS, Verdict.HOLDS]


@pytest.mark.parametrize(
    ("mean", "spread", "expected"),
    [
        ({0.01: 14.0}, {0.03: 0.3}, [Verdict.FAILS, Verdict.HOLDS]),
        ({}, {0.03: 4.0, 0.01: 0.5}, [Verdict.UNDECIDED, Verdict.FAILS]),
    ],
)
def test_a_claim_fails_if_the_opposite_is_measured(mean, spread, expected):
    found = verdicts(mean, spread)
    assert found[1] == expected[1]
    assert found[0] == expected[0] or expected[0] == Verdict.UNDECIDED


def test_the_figure_has_a_tick_for_every_candidate():
    table = search.scores_table(scores({}, {}))
    left, right = figure.draw(table).axes
    assert len(left.get_xticks()) == 12
    assert len(right.get_xticks()) == 4
