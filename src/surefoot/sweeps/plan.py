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

from surefoot.types import UserError, one_line, whole_number

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._=+,-]*")
NOT_A_RUNS_OWN = ("out", "resume", "core", "attached")
"""Arguments of `surefoot train` that the sweep gives."""


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
            raise UserError(f"name: got {self.name}, accepted: letters, digits and . _ = + , -")
        whole_number(f"{self.name}: steps", self.steps, 1)
        try:
            json.dumps(dict(self.settings), allow_nan=False)
        except (TypeError, ValueError) as error:
            accepted = "text, finite numbers, true and false"
            raise UserError(f"{self.name}: {one_line(error)}, accepted: {accepted}") from error
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
        raise UserError(f"{path}: {one_line(error)}, accepted: a plan in TOML") from error
    groups, defaults = found.pop("runs", None), found.pop("defaults", {})
    if found or not isinstance(defaults, dict):
        raise UserError(f"{path}: got {', '.join(found) or 'defaults'}, accepted: [defaults] and [[runs]]")
    tables = [group for group in groups if isinstance(group, dict)] if isinstance(groups, list) else []
    runs = [run for group in tables for run in _crossed({**defaults, **group})]
    if not runs:
        raise UserError(f"{path}: no runs, accepted: at least one table [[runs]]")
    return unique(runs)


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
    try:
        return template.format(**run)
    except (KeyError, IndexError, ValueError, AttributeError, TypeError) as error:
        raise UserError(f"name: got {template}, accepted: text with settings in braces") from error
