"""Settings of runs are compared by what they mean, not by how they are written."""

from dataclasses import fields

import pytest

from surefoot.cli.train import Train
from surefoot.sweeps.plan import RESERVED_ARGUMENTS
from surefoot.sweeps.settings_comparison import TRAIN_ARGUMENTS, canonical_settings, changed_settings


def test_all_other_settings_are_the_agents():
    """A risk aversion is short for the agent's setting `risk`; the number of steps may change."""
    known = {field.name for field in fields(Train)}
    assert known - {"risk_aversion", "steps", *RESERVED_ARGUMENTS} == TRAIN_ARGUMENTS


def test_canonical_settings_are_complete_and_by_their_names_of_today():
    found = canonical_settings({"env": "X-v0", "risk_aversion": 0.5, "thompson": "episode"}, "minatar")
    assert (found["env"], found["agent"], found["learning_rate"]) == ("X-v0", "uadqn", 1e-4)
    assert (found["risk"], found["explorer"], found["posterior"]) == (
        "mean-sd:0.5",
        "thompson-episode",
        "anchored",
    )
    assert not {"risk_aversion", "thompson"} & set(found)


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ({"risk_aversion": 0.5, "thompson": "step"}, {"risk": "mean-sd:0.5", "explorer": "thompson"}),
        ({"risk_aversion": 0}, {"risk": "mean"}),
        ({"agent": "dqn", "risk_aversion": 0.0}, {"agent": "dqn"}),
        ({"preset": "control"}, {"preset": "control", "learning_rate": 1e-3}),
        ({}, {"posterior": "anchored", "agent": "uadqn", "discount": 0.99}),
    ],
)
def test_another_way_of_writing_equal_settings_is_no_change(before, now):
    assert changed_settings(before, now) == []
    assert changed_settings(now, before) == []


@pytest.mark.parametrize(
    ("before", "now", "changed"),
    [
        ({"risk_aversion": 0.5}, {"risk": "mean-sd:0.6"}, ["risk"]),
        ({"seed": 1, "discount": 0.9}, {"seed": 2}, ["discount", "seed"]),
        ({"preset": "control"}, {"preset": "minatar"}, ["preset"]),
        # Each is the value of one preset, and the environment may decide on the other.
        ({}, {"learning_rate": 1e-4}, ["learning_rate"]),
        ({}, {"learning_rate": 1e-3}, ["learning_rate"]),
        # What cannot be resolved is compared as it is written.
        ({"agent": "nobodys.agent:KIND", "size": 1}, {"agent": "nobodys.agent:KIND", "size": 2}, ["size"]),
        ({"agent": "dqn", "nonsense": 1}, {"agent": "dqn"}, ["nonsense"]),
    ],
)
def test_different_settings_are_a_change(before, now, changed):
    assert changed_settings(before, now) == changed
    assert changed_settings(now, before) == changed
