"""Specifications of models: spaces and settings come back from JSON, also those of version 0.1."""

import json
from dataclasses import asdict

import pytest

import surefoot
from surefoot.errors import UserError
from surefoot.model_spec import ModelSpec, agent_of, space_from_json, space_to_json
from tests.small_models import CLIFF


def test_spaces_come_back_from_json():
    for name in ("CartPole-v1", "FrozenLake-v1", CLIFF):
        space = surefoot.DQN(name).observation_space
        assert space_from_json(json.loads(json.dumps(space_to_json(space)))) == space


def test_a_specification_comes_back_from_json_and_describes_the_same_agent():
    spec = surefoot.UADQN(CLIFF, posterior="mc-dropout", dropout_rate=0.3, risk_aversion=0.5).spec
    again = ModelSpec.from_json(json.loads(json.dumps(spec.as_json())))
    assert again == spec
    assert again.settings.risk == "mean-sd:0.5"
    assert agent_of(again) is agent_of(spec)


def test_settings_of_version_0_1_are_understood():
    found = surefoot.UADQN(CLIFF, explorer="thompson-episode", risk="mean-sd:0.5").spec.as_json()
    old = {name: value for name, value in found.items() if name != "optimiser"}
    renamed = {"risk", "explorer", "posterior"}
    settings = {name: value for name, value in found["settings"].items() if name not in renamed}
    old["settings"] = {**settings, "risk_aversion": 0.5, "thompson": "episode"}
    assert asdict(ModelSpec.from_json(old).settings) == found["settings"]


def test_a_damaged_description_is_one_line():
    with pytest.raises(UserError, match="model: its description is damaged"):
        ModelSpec.from_json({"env": "CartPole-v1"})
