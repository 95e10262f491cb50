"""Which runs belong together: tasks by their environments, groups by what else differs but the seed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, NamedTuple

from surefoot.agents import AGENTS
from surefoot.agents.presets import preset_for, resolve_settings
from surefoot.architectures import default_network
from surefoot.comparison.selection import SelectedRun
from surefoot.errors import did_you_mean, require
from surefoot.model_spec import CUSTOM, space_from_json
from surefoot.optimisers import ADAM

OTHER_CHOICES = ("preset", "network", "normalise", "optimiser")
"""Choices in a run's configuration, beyond its environment, its agent and the agent's settings. The driver is
none of them: compiled and hosted training are alike, but for the random numbers of the environment."""
DIRECTORY = "directory"
"""Groups runs by the directory that was named."""
MORE_NAMES = ("env", "agent", *OTHER_CHOICES, "driver", "version", "revision", DIRECTORY)
"""What runs can be grouped by, in addition to settings of agents and arguments of environments."""


class Place(NamedTuple):
    """Where a run stands in a comparison."""

    task: str
    group: str
    identity: str
    """All that a run's results follow from: two runs that are alike in it are copies."""


def places(runs: Sequence[SelectedRun], by: Sequence[str] = ()) -> list[Place]:
    """The task and the group of each run.

    Groups have the names of their agents, and of the settings in which runs of one agent on one task differ;
    a value that the agent, its preset and the observations imply is not mentioned. `by` names what makes the
    groups instead.
    """
    _require_names(by, runs)
    tasks = _tasks(runs, by)
    chosen = [chosen_settings(run.config) for run in runs]
    agents = _short({run.config["agent"] for run in runs})
    if by:
        groups = [_label(_named_values(run, by, agents)) for run in runs]
    else:
        cells = [(task, run.config["agent"]) for task, run in zip(tasks, runs, strict=True)]
        varied = _varied(cells, chosen)
        groups = [
            _label({"agent": agents[run.config["agent"]], **_only(each, varied)})
            for run, each in zip(runs, chosen, strict=True)
        ]
    return [
        Place(task, group, _identity(run, each))
        for run, task, group, each in zip(runs, tasks, groups, chosen, strict=True)
    ]


def _identity(run: SelectedRun, chosen: Mapping[str, Any]) -> str:
    """Runs with objects that only a user can make may differ in what no file tells: none is a copy."""
    config = run.config
    has_objects = config.get("env_is_object") or CUSTOM in (config.get("network"), config.get("optimiser"))
    path = str(run.path) if has_objects else ""
    return repr([config["agent"], config["seed"], config.get("driver"), path, sorted(chosen.items())])


def chosen_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's choices, except those that its agent, its preset and its observations imply."""
    found = {name: config[name] for name in OTHER_CHOICES if name in config}
    try:
        space = space_from_json(config["observation_space"])
        implied = {
            "preset": preset_for(space),
            "network": default_network(space),
            "normalise": False,
            "optimiser": ADAM,
        }
        agent, preset = config["agent"], config["preset"]
        settings = asdict(resolve_settings(agent, preset, config["settings"]))
        parts = [each.name for each in fields(AGENTS.resolve(agent).config) if "registry" in each.metadata]
        default = asdict(resolve_settings(agent, preset, {}, space))
        implied |= asdict(resolve_settings(agent, preset, _only(settings, parts), space))
        implied |= _only(default, parts)
    except Exception:  # Importing a user's own agent may raise anything.
        implied, settings = dict[str, Any](), dict(config["settings"])
    found |= settings
    return {name: value for name, value in found.items() if name not in implied or implied[name] != value}


def _varied(cells: Sequence[tuple[str, str]], chosen: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names of the settings that differ between runs of one agent on one task."""
    names = list(dict.fromkeys(name for each in chosen for name in each))
    values: dict[tuple[str, tuple[str, str]], set[str]] = {}
    for cell, each in zip(cells, chosen, strict=True):
        for name in names:
            values.setdefault((name, cell), set()).add(_key(each.get(name)))
    return [name for name in names if any(len(values[name, cell]) > 1 for cell in set(cells))]


def _tasks(runs: Sequence[SelectedRun], by: Sequence[str]) -> list[str]:
    """Environments by their short names, with the arguments in which runs of the same one differ."""
    names = _short({run.config["env"] for run in runs})
    arguments = [run.config["env_kwargs"] for run in runs]
    varied = _varied([(run.config["env"], "") for run in runs], arguments)
    return [
        _label(
            {"env": names[run.config["env"]] if "env" not in by else ""}
            | _only(each, [name for name in varied if name not in by])
        )
        for run, each in zip(runs, arguments, strict=True)
    ]


def _named_values(run: SelectedRun, by: Sequence[str], agents: Mapping[str, str]) -> dict[str, Any]:
    known = _all_values(run) | {"agent": agents[run.config["agent"]]}
    return {name: known.get(name) for name in by}


def _all_values(run: SelectedRun) -> dict[str, Any]:
    """Everything that a run can be grouped by."""
    config = run.config
    top = {name: config[name] for name in MORE_NAMES if name in config}
    return {**config["env_kwargs"], **config["settings"], **top, DIRECTORY: run.source}


def _require_names(by: Sequence[str], runs: Iterable[SelectedRun]) -> None:
    known = dict.fromkeys(name for run in runs for name in _all_values(run))
    for name in by:
        require("by", name, name in known, f"{', '.join(known)}{did_you_mean(name, known)}")


def _only(values: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: values[name] for name in names if name in values}


def _label(values: Mapping[str, Any]) -> str:
    """Values with their names, but for the environment and the agent, which need none."""
    words = [
        _text(value) if name in {"env", "agent"} else f"{name}={_text(value)}"
        for name, value in values.items()
        if value != ""
    ]
    return " ".join(words) or "all"


def _key(value: Any) -> str:
    """Equal for equal values, such as 1 and 1.0."""
    return repr(float(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def _text(value: Any) -> str:
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return "none" if value is None else str(value)


def _short(names: Iterable[str]) -> dict[str, str]:
    """Names such as `package.module:Id-v0` or `package/Id-v0` without the package, if they stay different."""
    short = {name: name.rsplit(":", 1)[-1].rsplit("/", 1)[-1] for name in names}
    counts = list(short.values())
    return {name: each if counts.count(each) == 1 else name for name, each in short.items()}
