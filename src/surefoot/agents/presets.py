"""Presets, named settings for a kind of task, and the settings of an agent from all that was given."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from surefoot.agents import AGENTS, qrdqn, uadqn
from surefoot.agents.base import AgentConfig
from surefoot.architectures import image_shape
from surefoot.errors import UserError, did_you_mean, require
from surefoot.risk import MEAN, risk_from
from surefoot.settings import build, require_known, with_components
from surefoot.types import ObservationSpace


class Preset(NamedTuple):
    """Settings for all agents that have them, and further ones for single agents."""

    common: dict[str, Any]
    by_agent: dict[str, dict[str, Any]]
    on_vectors: Mapping[str, dict[str, Any]] = {}
    """Further settings for single agents, where observations are vectors."""
    completes: bool = False
    """Whether it adds to the preset that suits the observations, instead of standing alone."""


# Older targets than `control` has: with its levels each bootstrapped return shrinks, with midpoints it does
# not, and on CartPole-v1 spreads would grow without bound.
CALIBRATED_CONTROL: dict[str, Any] = {**qrdqn.CALIBRATED_ON_VECTORS, "target_period": 150}

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
        {
            # Without quantiles, learning is steadier at a lower rate and with older targets.
            "dqn": {"learning_rate": 5e-4, "target_period": 250},
            # Right uncertainties cost nothing in returns (docs/paper_map.md).
            "uadqn": CALIBRATED_CONTROL | uadqn.CALIBRATED_SETTINGS,
        },
    ),
    # Grids and images: the paper's settings on MinAtar, which are the agents' own defaults.
    "minatar": Preset({}, {}),
    # Grids in JAX, chosen by the time that UA-DQN trains on Breakout until it plays well (docs/benchmark.md).
    "fast": Preset({"envs": 16, "update_period": 8, "batch_size": 128, "learning_rate": 8e-4}, {}),
    # Chosen on tasks with exact answers, so that both uncertainties are right (docs/paper_map.md).
    "calibrated": Preset(
        {},
        {"qrdqn": qrdqn.CALIBRATED_SETTINGS, "uadqn": uadqn.CALIBRATED_SETTINGS},
        on_vectors=dict.fromkeys(("qrdqn", "uadqn"), CALIBRATED_CONTROL),
        completes=True,
    ),
}

THOMPSON_EXPLORERS = {"step": "thompson", "episode": "thompson-episode"}
"""What the setting `thompson` of version 0.1 is called as an explorer."""


def preset_for(space: ObservationSpace) -> str:
    """The preset that suits these observations."""
    return "minatar" if image_shape(space) else "control"


def preset_named(name: str) -> Preset:
    """The preset of this name."""
    accepted = ", ".join(PRESETS)
    require("preset", name, name in PRESETS, f"{accepted}{did_you_mean(name, PRESETS)}")
    return PRESETS[name]


def resolve_settings(
    agent: str, preset: str, given: Mapping[str, Any], space: ObservationSpace | None = None
) -> AgentConfig:
    """An agent's settings: those that are given, otherwise the preset's, otherwise the agent's defaults.

    A preset that completes another one needs the observations, unless all settings are given.
    """
    kind = AGENTS.resolve(agent)
    chosen = preset_named(preset)
    suits = None if space is None else preset_for(space)
    layers = [PRESETS[suits], chosen] if chosen.completes and suits else [chosen]
    given = _without_old_names(given, has_risk="risk" in kind.config.__dataclass_fields__)
    config = with_components(kind.config, given)
    require_known(agent, given, config)
    known = {field.name for field in fields(config)}
    values: dict[str, Any] = {}
    for layer in layers:
        values |= {**layer.common, **layer.by_agent.get(agent, {})}
        values |= layer.on_vectors.get(agent, {}) if suits == "control" else {}
    return build(config, {**{name: value for name, value in values.items() if name in known}, **given})


def _without_old_names(given: Mapping[str, Any], *, has_risk: bool) -> dict[str, Any]:
    """Settings with `risk_aversion` as a risk measure and `thompson` as an explorer."""
    found = dict(given)
    risk = risk_from(found.pop("risk", None), found.pop("risk_aversion", None))
    if risk is not None and has_risk:
        found["risk"] = str(risk)
    elif risk is not None and risk != MEAN:
        raise UserError(f"risk: got {risk} for an agent that learns without one, accepted: mean")
    if "thompson" in found:
        duration = found.pop("thompson")
        require("thompson", duration, duration in THOMPSON_EXPLORERS, ", ".join(THOMPSON_EXPLORERS))
        found.setdefault("explorer", THOMPSON_EXPLORERS[duration])
    return found
