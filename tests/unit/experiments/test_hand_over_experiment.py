"""The experiment on handing over: its claims can fail, and a short deployment has every row."""

import numpy as np
import pytest

import surefoot
from surefoot.claims import Verdict
from surefoot.experiments import hand_over
from surefoot.experiments.hand_over import AGENTS, BUDGET, FAR, MIXED, TRAINED
from tests.small_models import CLIFF, QUICK

ROWS = ((TRAINED, "epistemic"), (FAR, "epistemic"), (MIXED, "epistemic"), (MIXED, "random"))


def table_of(*, fell=0.1, random_fell=0.55, recognised=1.0, rate=0.09):
    """Three seeds, of which 0.6 of the episodes fall without handing over, and what is given with it."""
    rows = [
        (
            *(agent, seed, deployment, moments, budget),
            rate if budget else 0.0,
            (0.6 if not budget else random_fell if moments == "random" else fell) + 0.001 * seed,
            recognised if budget else 0.0,
        )
        for agent in AGENTS
        for seed in range(3)
        for deployment, moments in ROWS
        for budget in (0.0, BUDGET)
    ]
    names = ("agent", "seed", "deployment", "moments", "budget", "rate", "fell", "recognised")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def verdicts(kind, **changes):
    """The verdicts of the claims whose names contain this."""
    return {each.verdict for each in hand_over.claims(table_of(**changes)) if kind in each.name}


def test_all_claims_hold_where_handing_over_helps():
    assert verdicts("") == {Verdict.HOLDS}


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("falls at a budget", {"fell": 0.4}),
        ("states of the unknown part", {"recognised": 0.5}),
        ("share of steps", {"rate": 0.2}),
        ("random moments", {"random_fell": 0.1}),
    ],
)
def test_each_claim_fails_where_it_is_not_so(kind, changes):
    assert verdicts(kind, **changes) == {Verdict.FAILS}
    assert len(verdicts("", **changes)) == 2


def test_without_any_fall_nothing_is_said_about_halving_them():
    table = table_of()
    table["fell"] = np.zeros_like(table["fell"])
    found = [each.verdict for each in hand_over.claims(table) if "falls" in each.name]
    assert set(found) == {Verdict.UNDECIDED}


@pytest.mark.slow
def test_a_model_is_deployed_everywhere_at_every_budget():
    model = surefoot.UADQN(CLIFF, env_kwargs={"far_columns": 4}, **QUICK).learn(60, progress=False)
    rows = hand_over.deployed(model, 0, episodes=3)
    found = [(row["deployment"], row["moments"], row["budget"]) for row in rows]
    expected = [
        *((place, "epistemic", budget) for place in (TRAINED, FAR, MIXED) for budget in hand_over.BUDGETS),
        *((MIXED, "random", budget) for budget in (0.0, BUDGET)),
    ]
    assert found == expected
    assert all(row["rate"] == 0 for row in rows if row["budget"] == 0)
