from dataclasses import replace

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from surefoot.agents import AGENTS
from surefoot.agents.presets import PRESETS, preset_for, resolve_settings
from surefoot.errors import UserError

VECTORS, GRIDS = Box(-1, 1, (4,)), Box(0, 1, (10, 10, 4), bool)


@pytest.mark.parametrize("agent", list(AGENTS))
@pytest.mark.parametrize("space", [VECTORS, GRIDS])
def test_calibrated_changes_only_its_own_settings_of_the_preset_that_suits(agent, space):
    suits = resolve_settings(agent, preset_for(space), {})
    changed = dict(PRESETS["calibrated"].by_agent.get(agent, {}))
    if space is VECTORS and hasattr(suits, "quantiles"):
        changed |= {"quantiles": 20, "target_period": 150}
    assert resolve_settings(agent, "calibrated", {}, space) == replace(suits, **changed)


def test_on_vectors_uadqn_is_calibrated_by_default(few_networks, monkeypatch):
    monkeypatch.setitem(PRESETS["control"].by_agent["uadqn"], "auxiliary_networks", few_networks)
    assert resolve_settings("uadqn", "control", {}) == resolve_settings("uadqn", "calibrated", {}, VECTORS)


def test_observations_decide_the_preset():
    assert preset_for(Box(-1, 1, (4,))) == "control"
    assert preset_for(Discrete(16)) == "control"
    assert preset_for(Box(0, 1, (10, 10, 4), bool)) == "minatar"
    assert preset_for(Box(0, 255, (84, 84), np.uint8)) == "minatar"


@pytest.mark.parametrize("name", list(AGENTS))
@pytest.mark.parametrize("preset", list(PRESETS))
def test_overrides_come_before_the_preset_and_the_preset_before_the_defaults(name, preset):
    settings = resolve_settings(name, preset, {"discount": 0.5})
    assert settings.discount == 0.5
    assert settings.batch_size == PRESETS[preset].common.get("batch_size", AGENTS[name].settings().batch_size)
    assert resolve_settings(name, "minatar", {}) == AGENTS[name].settings()


@pytest.mark.parametrize(
    ("agent", "preset", "overrides", "says"),
    [
        (
            "dqm",
            "control",
            {},
            "agent: got dqm, accepted: dqn, .*uadqn, or package.module:name; did you mean dqn",
        ),
        ("dqn", "atari", {}, "preset: got atari, accepted: control, minatar, fast, calibrated"),
        ("dqn", "control", {"quantiles": 3}, "quantiles: no setting of dqn, accepted: adam_epsilon"),
        ("dqn", "control", {"learning_rat": 3}, "did you mean learning_rate"),
        ("dqn", "control", {"learning_rate": 0}, "learning_rate: got 0, accepted: numbers above 0"),
    ],
)
def test_a_wrong_name_is_refused_with_what_is_accepted(agent, preset, overrides, says):
    with pytest.raises(UserError, match=says):
        resolve_settings(agent, preset, overrides)
