"""Named settings for a kind of task."""

import difflib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from surefoot.agents import AGENTS
from surefoot.agents.base import Learning
from surefoot.architectures import image_shape
from surefoot.types import Observations, UserError


class Preset(NamedTuple):
    """Settings, and those that are an agent's own."""

    common: dict[str, Any]
    of_agent: dict[str, dict[str, Any]]


PRESETS = {
    # Vectors: chosen on CartPole-v1, by a few runs of 50,000 steps.
    "control": Preset(
        {
            "learning_rate": 1e-3,
            "kappa": 1.0,
            "batch_size": 64,
            "replay_capacity": 50_000,
            "learning_starts": 1_000,
            "target_period": 100,
            "final_epsilon": 0.05,
            "final_epsilon_step": 10_000,
        },
        # Without quantiles it needs more patience.
        {"dqn": {"learning_rate": 5e-4, "target_period": 250}},
    ),
    # Grids and images: the paper's settings on MinAtar, which are the agents' own defaults.
    "minatar": Preset({}, {}),
}


def preset_for(space: Observations) -> str:
    """The preset that suits these observations."""
    return "minatar" if image_shape(space) else "control"


def settings_of(agent: str, preset: str, overrides: Mapping[str, Any]) -> Learning:
    """An agent's settings: a preset's, where they differ from it the overrides."""
    if agent not in AGENTS:
        raise UserError(f"agent: got {agent}, accepted: {', '.join(AGENTS)}{_meant(agent, AGENTS)}")
    if preset not in PRESETS:
        raise UserError(f"preset: got {preset}, accepted: {', '.join(PRESETS)}")
    config = AGENTS[agent].config
    kinds = {field.name: field.type for field in fields(config)}
    known = set(kinds)
    for name in overrides:
        if name not in known:
            meant = _meant(name, known)
            raise UserError(f"{name}: no setting of {agent}, accepted: {', '.join(sorted(known))}{meant}")
    common, of_agent = PRESETS[preset]
    ours = {name: value for name, value in common.items() if name in known}
    chosen = {**ours, **of_agent.get(agent, {}), **overrides}
    return config(**{name: _of_type(name, value, kinds[name]) for name, value in chosen.items()})


def _of_type(name: str, value: Any, kind: Any) -> Any:
    """A setting as the number that it should be; NumPy's own will do."""
    plain = value.item() if isinstance(value, np.generic) else value
    wanted = {int: int, float: int | float}.get(kind)
    if wanted is not None and (not isinstance(plain, wanted) or isinstance(plain, bool)):
        accepted = "whole numbers" if kind is int else "numbers"
        raise UserError(f"{name}: got {value!r}, accepted: {accepted}")
    return plain


def _meant(word: str, among: Any) -> str:
    close = difflib.get_close_matches(word, list(among), 1)
    return f"; did you mean {close[0]}?" if close else ""
