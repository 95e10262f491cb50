"""When control changes: by two thresholds, whose share of steps is known for known signals."""

import numpy as np
import pytest

from surefoot.cautious.thresholds import ALWAYS, NEVER, Thresholds, control, fit_thresholds

STEPS = 40_000
ONE_EPISODE = np.arange(STEPS) == 0
UNIFORM = np.random.default_rng(0).random(STEPS)


def step_by_step(signal, starts, thresholds):
    """Control as a policy has it, one step after the other."""
    found, handed_over = [], np.zeros(1, bool)
    for value, is_start in zip(signal, starts, strict=True):
        handed_over = thresholds.next_control(handed_over & ~is_start, np.array([value]))
        found.append(bool(handed_over[0]))
    return np.array(found)


@pytest.mark.parametrize("budget", [0.05, 0.2, 0.5])
def test_thresholds_of_a_uniform_signal_are_those_that_balance_hand_overs_and_returns(budget):
    """With probability p to hand over and q to hand back, the share is p / (p + q).

    Twice as many signals are above the lower threshold, so q = 1 - 2p, but it is at most 0.9 (1 - p).
    """
    handing_over = budget / (1 + budget) if budget > 0.1 else 0.9 * budget / (1 - 0.1 * budget)
    handing_back = min(1 - 2 * handing_over, 0.9 * (1 - handing_over))
    assert handing_over / (handing_over + handing_back) == pytest.approx(budget)
    found = fit_thresholds(UNIFORM, ONE_EPISODE, budget)
    error = 5 * np.sqrt(budget / STEPS) + 0.001
    assert found.hand_over == pytest.approx(1 - handing_over, abs=error)
    assert found.hand_back == pytest.approx(handing_back, abs=2 * error)
    assert control(UNIFORM, ONE_EPISODE, found).mean() <= budget
    new = np.random.default_rng(1).random(STEPS)
    assert control(new, ONE_EPISODE, found).mean() == pytest.approx(budget, abs=error)


@pytest.mark.parametrize(
    "thresholds", [Thresholds(0.8, 0.5), Thresholds(0.3, 0.3), Thresholds(0.99, 0.1), NEVER, ALWAYS]
)
def test_control_of_whole_episodes_is_that_of_their_steps(thresholds):
    signal = np.where(np.arange(500) % 97 == 5, np.nan, UNIFORM[:500])
    starts = np.arange(500) % 20 == 0
    np.testing.assert_array_equal(
        control(signal, starts, thresholds), step_by_step(signal, starts, thresholds)
    )


def test_between_the_thresholds_control_stays_where_it_is():
    alternating = np.tile([0.9, 0.7], 50)
    start = np.arange(100) == 0
    with_band, without = Thresholds(0.8, 0.6), Thresholds(0.8, 0.8)
    assert control(alternating, start, with_band).all()
    np.testing.assert_array_equal(control(alternating, start, without), alternating > 0.8)
    below = np.tile([0.7, 0.5], 50)
    assert not control(below, start, with_band).any()
    there_and_back = np.array([0.7, 0.9, 0.7, 0.61, 0.6, 0.7, 0.79])
    expected = [False, True, True, True, False, False, False]
    np.testing.assert_array_equal(control(there_and_back, np.arange(7) == 0, with_band), expected)


def test_a_new_episode_begins_with_the_agent():
    signal = np.array([0.9, 0.7, 0.7, 0.7])
    found = control(signal, np.array([True, False, True, False]), Thresholds(0.8, 0.6))
    np.testing.assert_array_equal(found, [True, True, False, False])


def test_a_budget_of_0_never_hands_over_and_one_of_1_always():
    signal = np.array([0.0, 1e30, np.inf, np.nan])
    start = np.arange(4) == 0
    assert not control(signal, start, fit_thresholds(UNIFORM, ONE_EPISODE, 0)).any()
    assert control(signal, start, fit_thresholds(UNIFORM, ONE_EPISODE, 1)).all()


def test_a_signal_that_is_not_a_number_hands_over():
    found = control(np.array([0.1, np.nan, 0.1]), np.arange(3) == 0, Thresholds(0.8, 0.6))
    np.testing.assert_array_equal(found, [False, True, False])


def test_equal_signals_are_handed_over_together_or_not_at_all():
    """Four states of an episode, a quarter of the steps each; a tenth of the steps cannot be the fourth."""
    signal = np.tile([0.1, 0.2, 0.3, 0.4], 100)
    starts = np.arange(400) % 4 == 0
    for budget, handed_over in ((0.1, []), (0.24, []), (0.25, [0.4]), (0.6, [0.3, 0.4])):
        thresholds = fit_thresholds(signal, starts, budget)
        # Another program may round the same state's number differently.
        for rounding in (1 - 1e-5, 1, 1 + 1e-5):
            found = control(signal * rounding, starts, thresholds)
            assert set(signal[found]) == set(handed_over), budget


def test_what_was_never_seen_is_handed_over_at_any_budget_but_0():
    for budget in (0.001, 0.1, 0.5):
        thresholds = fit_thresholds(UNIFORM, ONE_EPISODE, budget)
        assert control(np.array([1.1]), np.array([True]), thresholds).all()


def test_thresholds_rise_until_the_realised_share_meets_the_budget():
    """A fallback that leads to where the agent is unsure: each step handed over makes a second one."""
    budget, calls = 0.2, []

    def realised(thresholds):
        calls.append(thresholds)
        return 2 * control(UNIFORM, ONE_EPISODE, thresholds).mean()

    found = fit_thresholds(UNIFORM, ONE_EPISODE, budget, realised)
    half = fit_thresholds(UNIFORM, ONE_EPISODE, budget / 2)
    assert found == half
    assert realised(found) <= budget
    assert len(calls) <= 2 + np.log2(STEPS)
