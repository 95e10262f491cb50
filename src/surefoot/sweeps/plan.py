"""A plan: the runs that a sweep is made of, from a TOML file or from an experiment."""

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from surefoot.errors import UserError, require_whole_number
from surefoot.text import error_line

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+,-]{,199}")
NOT_A_RUNS_OWN = ("out", "resume", "core", "attached", "help")
"""Arguments of `surefoot train` that the sweep gives, or that train nothing."""


@dataclass(frozen=True, kw_only=True)
class PlannedRun:
    """A run of `surefoot train`, and what it is called in its sweep."""

    name: str
    """Its directory's, too."""
    steps: int
    settings: Mapping[str, Any]
    """Its other arguments, by the names of their fields."""

    def __post_init__(self) -> None:
        """Validate."""
        if not NAME.fullmatch(self.name):
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
        for name in NOT_A_RUNS_OWN:
            if name in self.settings:
                raise UserError(f"{self.name}: {name} is the sweep's to give, accepted: other settings")

    def arguments(self) -> list[str]:
        """As the command takes them."""
        return [word for name, value in self.settings.items() for word in _words(name, value)]


def _words(name: str, value: Any) -> list[str]:
    flag = "--" + name.replace("_", "-")
    if isinstance(value, bool):
        return [flag] if value else []
    return [flag, json.dumps(value) if isinstance(value, Mapping) else str(value)]


def read(path: Path) -> list[PlannedRun]:
    """The runs of a plan: those of each table in `runs`, beside its `defaults`.

    A list stands for one run with each of its values; several lists for all their combinations.
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
    runs = [run for group in groups for run in _crossed({**_fields(defaults), **_fields(group)})]
    if not runs:
        raise UserError(f"{path}: no runs, accepted: lists with something in them")
    return unique(runs)


def _fields(table: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by the names of their fields; `batch-size` is `batch_size`, as on the command line."""
    found = {name.replace("-", "_"): value for name, value in table.items()}
    if len(found) < len(table):
        raise UserError(f"runs: a setting is given twice, as {', '.join(table)}, accepted: once")
    return found


def unique(runs: Sequence[PlannedRun]) -> list[PlannedRun]:
    """The same runs, if each has a name of its own."""
    (name, count), *_ = Counter(run.name for run in runs).most_common(1)
    if count > 1:
        raise UserError(f"name: {count} runs are called {name}, accepted: another for each (name = ...)")
    return list(runs)


def _crossed(group: Mapping[str, Any]) -> list[PlannedRun]:
    """One run for every combination of the lists' values."""
    template = group.get("name")
    settings = {key: value for key, value in group.items() if key != "name"}
    varied = [key for key, value in settings.items() if isinstance(value, list)]
    runs: list[PlannedRun] = []
    for values in product(*(settings[key] for key in varied)):
        run = {**settings, **dict(zip(varied, values, strict=True))}
        name = _name(run, varied) if template is None else _filled(str(template), run)
        if "env" not in run or "steps" not in run:
            raise UserError(f"{name}: {'steps' if 'env' in run else 'env'} is missing, accepted: both given")
        runs.append(PlannedRun(name=name, steps=run.pop("steps"), settings=run))
    return runs


def _name(run: Mapping[str, Any], varied: Sequence[str]) -> str:
    """Environment, agent, what else is varied, and seed."""
    env = str(run.get("env")).rsplit(":", 1)[-1].rsplit("/", 1)[-1]
    others = [f"{key}={run[key]}" for key in varied if key not in {"env", "agent", "seed", "steps"}]
    words = [env, str(run.get("agent", "uadqn")), *others, f"seed{run.get('seed', 0)}"]
    return re.sub(r"[^A-Za-z0-9._=+,-]+", "_", "-".join(words))


def _filled(template: str, run: Mapping[str, Any]) -> str:
    """The template with settings where their names stand in braces."""

    def value(found: re.Match[str]) -> str:
        if found[1] not in run:
            raise UserError(f"name: got {template}, accepted: text with settings in braces")
        return str(run[found[1]])

    return re.sub(r"\{([^{}]*)\}", value, template)
