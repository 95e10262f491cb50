"""What an experiment is: settings in; claims, tables and figures out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.claims import Claim, Verdict
from surefoot.sweeps.plan import PlannedRun
from surefoot.errors import UserError

Table = Mapping[str, NDArray[Any]]
"""Columns by name, all of one length."""

Advance = Callable[[float], None]
"""Called with the part of the whole work, from 0 to 1, that was just done."""


Sweep = Callable[[Sequence[PlannedRun]], Mapping[str, Path]]
"""Carries out a plan to its end; where each run is, by its name."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the settings of every experiment have in common."""

    seeds: int
    """Independent repetitions."""
    steps: int
    """Length of each repetition, in the unit that the experiment documents."""


class Outcome(NamedTuple):
    """What an experiment found."""

    claims: Sequence[Claim]
    tables: Mapping[str, Table]
    figure: Figure


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment of the paper."""

    name: str
    title: str
    intervals: str
    """What its intervals are."""
    tables: tuple[str, ...]
    """Names of the tables it gives."""
    config: type[Settings]
    empirical: bool = True
    """Whether its claims need runs of full length: in shorter ones nothing fails, it is undecided."""


@dataclass(frozen=True, kw_only=True)
class DirectExperiment(Experiment):
    """One that does its work itself."""

    run: Callable[[Any, Advance], Outcome]


@dataclass(frozen=True, kw_only=True)
class SweptExperiment(Experiment):
    """One whose work is runs of the command, kept in its directory: it can be stopped and gone on with."""

    run: Callable[[Any, Sweep], Outcome]


def judged(experiment: Experiment, settings: Settings, claims: Sequence[Claim]) -> list[Claim]:
    """Claims with the verdicts that runs of this length allow."""
    full = next(field.default for field in fields(experiment.config) if field.name == "steps")
    short = experiment.empirical and settings.steps < cast("int", full)
    return [each.undecided() if short and each.verdict == Verdict.FAILS else each for each in claims]


def require_at_least(least: int, **settings: int) -> None:
    """Refuse a whole number below `least`, naming its field."""
    for name, value in settings.items():
        if value < least:
            raise UserError(f"{_flag(name)}: got {value}, accepted: whole numbers from {least}")


def require_positive(**settings: float) -> None:
    """Refuse a number that is not finite and above nought, naming its field."""
    for name, value in settings.items():
        if not 0 < value < math.inf:
            raise UserError(f"{_flag(name)}: got {value}, accepted: numbers above 0")


def _flag(field: str) -> str:
    return "--" + field.replace("_", "-")


def stack_tables(tables: Sequence[Table]) -> Table:
    """One table from several with the same columns."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
