"""The appendix's search: its plan, and its claims on made-up scores."""

import numpy as np
import pytest

from surefoot.claims import Verdict
from surefoot.experiments import hyperparameter_search as search
from surefoot.experiments.hyperparameter_search import CANDIDATES, Config
from surefoot.figures import hyperparameter_search as figure

FULL = Config(seeds=8)


def test_the_candidates_are_the_appendixs():
    assert len([each for each in CANDIDATES if each.agent == "qrdqn"]) == 2 * 2 * 3
    betas = [dict(each.settings)["exploration"] for each in CANDIDATES if each.agent == "uadqn"]
    assert betas == [0.5, 0.2, 0.1, 0.04]
    names = {search.planned(each, 0, 10).name for each in CANDIDATES}
    assert len(names) == len(CANDIDATES)


def scores(mean, spread):
    """By final epsilon; UA-DQN's do not matter here."""
    rng = np.random.default_rng(0)
    found = {}
    for each in CANDIDATES:
        epsilon = dict(each.settings).get("final_epsilon", 0.1)
        found[each] = mean.get(epsilon, 10.0) + spread.get(epsilon, 1.0) * rng.normal(size=FULL.seeds)
    return found


def verdicts(mean=None, spread=None):
    return [each.verdict for each in search.claims(FULL, scores(mean or {}, spread or {}))]


def test_the_claims_hold_where_all_is_as_the_appendix_says():
    assert verdicts(spread={0.03: 0.3}) == [Verdict.HOLDS, Verdict.HOLDS]


@pytest.mark.parametrize(
    ("mean", "spread", "expected"),
    [
        ({0.01: 14.0}, {0.03: 0.3}, [Verdict.FAILS, Verdict.HOLDS]),
        ({}, {0.03: 4.0, 0.01: 0.5}, [Verdict.UNDECIDED, Verdict.FAILS]),
    ],
)
def test_the_opposite_is_seen(mean, spread, expected):
    found = verdicts(mean, spread)
    assert found[1] == expected[1]
    assert found[0] == expected[0] or expected[0] == Verdict.UNDECIDED


def test_short_or_few_runs_decide_nothing():
    for config in (Config(seeds=2), Config(steps=1_000)):
        found = search.claims(config, scores({}, {0.03: 0.3}))
        assert {each.verdict for each in found} == {Verdict.UNDECIDED}


def test_the_figure_has_a_place_for_every_candidate():
    table = search.table_of(scores({}, {}))
    left, right = figure.draw(table).axes
    assert len(left.get_xticks()) == 12
    assert len(right.get_xticks()) == 4
