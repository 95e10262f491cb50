"""Whether two runs have equal settings, whatever their versions of Surefoot called them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from surefoot.agents import DEFAULT_AGENT
from surefoot.agents.presets import PRESETS, resolve_settings

TRAIN_ARGUMENTS = frozenset(
    {
        *("env", "agent", "seed", "preset", "network", "optimiser", "normalise", "driver", "env_kwargs"),
        *("eval_every", "eval_episodes", "log_every", "checkpoint_every", "probe", "if_disk_full"),
    }
)
"""Settings of a planned run that are arguments of `surefoot train` itself; all others are the agent's."""

RENAMED = {"risk": "risk_aversion", "explorer": "thompson"}
"""Settings of agents and their names in version 0.1."""


def canonical_settings(settings: Mapping[str, Any], preset: str) -> dict[str, Any]:
    """A planned run's settings, with all of its agent's by their names of today, completed by this preset.

    Raises an error if the agent or one of its settings is not known.
    """
    own = {name: value for name, value in settings.items() if name in TRAIN_ARGUMENTS}
    given = {name: value for name, value in settings.items() if name not in TRAIN_ARGUMENTS}
    agent = own.setdefault("agent", DEFAULT_AGENT)
    return {**own, **asdict(resolve_settings(agent, preset, given))}


def changed_settings(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names of the settings in which two planned runs differ, in alphabetical order.

    Without a preset, the environment decides on one: then they must agree whichever it is.
    """
    chosen_by_observations = [name for name, preset in PRESETS.items() if not preset.completes]
    presets = [now["preset"]] if now.get("preset") is not None else chosen_by_observations
    try:
        pairs = [(canonical_settings(before, each), canonical_settings(now, each)) for each in presets]
    except Exception:  # Importing a user's own agent may raise anything.
        pairs = [(dict(before), dict(now))]
    changed = {name for old, new in pairs for name in {*old, *new} if old.get(name) != new.get(name)}
    return sorted(changed)


def settings_on_disk(planned: Mapping[str, Any], on_disk: Mapping[str, Any]) -> dict[str, Any]:
    """The planned settings, with the values that they have in the configuration of a run on disk."""
    today = {old: new for new, old in RENAMED.items()}
    found: dict[str, Any] = {}
    for name, value in planned.items():
        names = (name, RENAMED.get(name, name), today.get(name, name))
        known = next((each for each in names if each in on_disk), None)
        found |= {name: value} if known is None else {known: on_disk[known]}
    return found
