"""Verdicts from intervals, and claims as JSON."""

import json
import math

import pytest

from surefoot.claims import Verdict, above, below, between, claim, recovers


def verdict(criterion, interval, measured=1.0):
    return claim("a", paper="b", measured=measured, interval=interval, criterion=criterion).verdict


@pytest.mark.parametrize(
    ("criterion", "interval", "expected"),
    [
        (above(1), (1.1, 2), Verdict.HOLDS),
        (above(1), (0.9, 2), Verdict.UNDECIDED),
        (above(1), (0.5, 0.9), Verdict.FAILS),
        (above(1), (1, 1), Verdict.UNDECIDED),
        (above(1), (1, 2), Verdict.UNDECIDED),
        (below(1), (0.5, 0.9), Verdict.HOLDS),
        (below(1), (0.5, 1.1), Verdict.UNDECIDED),
        (below(1), (1.1, 1.2), Verdict.FAILS),
        (below(1), (1, 1), Verdict.UNDECIDED),
        (between(1, 2), (1.2, 1.8), Verdict.HOLDS),
        (between(1, 2), (0.5, 2.5), Verdict.UNDECIDED),
        (between(1, 2), (2.1, 2.5), Verdict.FAILS),
        (recovers(1, 0.5), (0.8, 1.1), Verdict.HOLDS),
        (recovers(1, 0.1), (0.5, 1.5), Verdict.UNDECIDED),
        (recovers(1, 0.5), (1.01, 1.1), Verdict.FAILS),
    ],
)
def test_the_verdict_follows_from_the_interval(criterion, interval, expected):
    assert verdict(criterion, interval) == expected


@pytest.mark.parametrize("interval", [None, (math.nan, math.nan), (0.0, math.nan)])
@pytest.mark.parametrize("criterion", [above(0), below(9), between(0, 9), recovers(1, 9)])
def test_without_an_interval_a_claim_is_undecided(criterion, interval):
    assert verdict(criterion, interval) == Verdict.UNDECIDED


def test_a_claim_is_written_as_strict_json():
    found = claim("a", paper="b", measured=math.nan, interval=(0, math.inf), criterion=above(1))
    text = json.dumps(found.as_json(), allow_nan=False)
    assert json.loads(text) == {
        "name": "a",
        "paper": "b",
        "measured": None,
        "interval": [0, None],
        "criterion": "> 1",
        "verdict": "undecided",
        "exact": False,
    }
