"""The realised measure of returns, beside what was believed."""

import numpy as np
import pytest

from surefoot.risk import RiskKind, parse_risk
from surefoot.risk.realised import realised

OF_HEADS = RiskKind(lambda beliefs: beliefs.members.min(axis=0), lambda: True, "OF_HEADS")
"""A user's own, of what returns do not show."""

RETURNS = np.random.default_rng(0).normal(2.0, 3.0, size=400)


def test_it_is_the_same_measure_of_the_returns():
    ordered = np.sort(RETURNS)
    assert realised(parse_risk("cvar:0.1"), RETURNS).measured == pytest.approx(ordered[:40].mean(), rel=1e-5)
    assert realised(parse_risk("mean"), RETURNS).measured == pytest.approx(RETURNS.mean(), rel=1e-5)
    spread = RETURNS.std(ddof=1)
    assert realised(parse_risk("mean-sd:0.5"), RETURNS).measured == pytest.approx(
        RETURNS.mean() - 0.5 * spread, rel=1e-5
    )


def test_what_returns_do_not_show_has_no_realised_counterpart():
    assert realised(parse_risk("pessimism:1"), RETURNS) is None
    assert realised(parse_risk(f"{__name__}:OF_HEADS"), RETURNS) is None


def test_one_episode_that_decides_alone_has_no_interval():
    assert realised(parse_risk("cvar:0.1"), RETURNS[:19]).interval is None
    assert realised(parse_risk("cvar:0.1"), RETURNS[:20]).interval is not None


@pytest.mark.slow
def test_intervals_cover_the_truth_about_as_often_as_they_say():
    """CVaR 0.25 of a uniform return is 1/8; 95 % intervals of 200 episodes, 100 times."""
    rng, measure = np.random.default_rng(1), parse_risk("cvar:0.25")
    covered = 0
    for _ in range(100):
        low, high = realised(measure, rng.uniform(size=200)).interval
        covered += low <= 0.125 <= high
    assert 86 <= covered <= 99
