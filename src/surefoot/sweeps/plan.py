"""A plan: the runs of a sweep, from a TOML file or from an experiment."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from surefoot.agents import DEFAULT_AGENT
from surefoot.errors import UserError, require_whole_number
from surefoot.text import error_line

NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+,-]{,199}")
RESERVED_ARGUMENTS = ("out", "resume", "core", "attached", "help")
"""Arguments of `surefoot train` that the sweep sets itself, or that train nothing."""


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """One run of `surefoot train` in a sweep."""

    name: str
    """Its name in the sweep, also that of its directory."""
    steps: int
    """The steps of the environment that it makes in all."""
    settings: Mapping[str, Any]
    """The other arguments of `surefoot train`, with underscores, such as `batch_size`."""

    def __post_init__(self) -> None:
        """Validate."""
        if not NAME_PATTERN.fullmatch(self.name):
            accepted = "letters, digits and . _ = + , - (200 at most; name = ...)"
            raise UserError(f"name: got {self.name}, accepted: {accepted}")
        require_whole_number(f"{self.name}: steps", self.steps, 1)
        accepted = "text, finite numbers, true and false"
        try:
            json.dumps(dict(self.settings), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise UserError(f"{self.name}: {error_line(error)}, accepted: {accepted}") from error
        for name, value in self.settings.items():
            if isinstance(value, list):
                raise UserError(f"{self.name}: {name}: got {value}, accepted: {accepted}")
        for name in RESERVED_ARGUMENTS:
            if name in self.settings:
                accepted = "other arguments of surefoot train"
                raise UserError(f"{self.name}: {name} is no setting of a planned run, accepted: {accepted}")

    def arguments(self) -> list[str]:
        """The settings as arguments on the command line of `surefoot train`."""
        return [
            argument for name, value in self.settings.items() for argument in _flag_and_value(name, value)
        ]


def _flag_and_value(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [flag] if value else []
    return [flag, json.dumps(value) if isinstance(value, Mapping) else str(value)]


def read_plan(path: Path) -> list[PlannedRun]:
    """The runs of a plan in TOML: those of each table in `runs`, completed by the table `defaults`.

    A list stands for one run with each of its values; several lists stand for all their combinations.
    """
    try:
        found = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UserError(f"{path}: {error_line(error)}, accepted: a plan in TOML") from error
    groups, defaults = found.pop("runs", None), found.pop("defaults", {})
    if found or not isinstance(defaults, dict):
        raise UserError(f"{path}: got {', '.join(found) or 'defaults'}, accepted: [defaults] and [[runs]]")
    if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
        raise UserError(f"{path}: no runs, accepted: at least one table [[runs]]")
    runs = [
        run
        for group in groups
        for run in _combinations({**_with_underscores(defaults), **_with_underscores(group)})
    ]
    if not runs:
        raise UserError(f"{path}: no runs, accepted: at least one value in each list")
    _require_unique_names(runs)
    return runs


def _with_underscores(table: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with underscores in their names; `batch-size`, as on the command line, means `batch_size`."""
    found = {name.replace("-", "_"): value for name, value in table.items()}
    if len(found) < len(table):
        raise UserError(f"runs: a setting is given twice, as {', '.join(table)}, accepted: once")
    return found


def _require_unique_names(runs: Sequence[PlannedRun]) -> None:
    (name, count), *_ = Counter(run.name for run in runs).most_common(1)
    if count > 1:
        raise UserError(f"name: {count} runs are called {name}, accepted: another for each (name = ...)")


def _combinations(group: Mapping[str, Any]) -> list[PlannedRun]:
    """One run for every combination of the values in lists."""
    template = group.get("name")
    settings = {key: value for key, value in group.items() if key != "name"}
    varied = [key for key, value in settings.items() if isinstance(value, list)]
    runs: list[PlannedRun] = []
    for values in product(*(settings[key] for key in varied)):
        run = {**settings, **dict(zip(varied, values, strict=True))}
        name = _default_name(run, varied) if template is None else _fill_template(str(template), run)
        for required in ("env", "steps"):
            if required not in run:
                accepted = "a plan that gives env and steps for each run"
                raise UserError(f"{name}: {required} is not given, accepted: {accepted}")
        runs.append(PlannedRun(name=name, steps=run.pop("steps"), settings=run))
    return runs


def _default_name(run: Mapping[str, Any], varied: Sequence[str]) -> str:
    """A name of the environment, the agent, the other settings that vary, and the seed."""
    env = str(run.get("env", "run")).rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    others = [f"{key}={run[key]}" for key in varied if key not in {"env", "agent", "seed", "steps"}]
    parts = [env, str(run.get("agent", DEFAULT_AGENT)), *others, f"seed{run.get('seed', 0)}"]
    return re.sub(r"[^A-Za-z0-9._=+,-]+", "_", "-".join(parts))


def _fill_template(template: str, run: Mapping[str, Any]) -> str:
    """The template with the values of settings instead of their names in braces."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in run:
            raise UserError(f"name: got {template}, accepted: text with names of settings in braces")
        return str(run[found[1]])

    return re.sub(r"\{([^{}]*)\}", value, template)
