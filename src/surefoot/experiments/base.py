"""What an experiment is: settings in; claims, tables and figures out."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.claims import Claim
from surefoot.types import UserError

Table = Mapping[str, NDArray[Any]]
"""Columns by name, all of one length."""

Advance = Callable[[float], None]
"""Called with the part of the whole work, from 0 to 1, that was just done."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the settings of every experiment have in common."""

    seeds: int
    """Independent repetitions."""
    steps: int
    """Length of each repetition, in the unit that the experiment documents."""


class Outcome(NamedTuple):
    """What an experiment found. The table and the figure called "data" and by its name come first."""

    claims: Sequence[Claim]
    tables: Mapping[str, Table]
    figures: Mapping[str, Figure]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment of the paper."""

    name: str
    title: str
    intervals: str
    """What its intervals are."""
    config: type[Settings]
    run: Callable[[Any, Advance], Outcome]


def require_at_least(least: int, **fields: int) -> None:
    """Refuse a whole number below `least`, naming its field."""
    for name, value in fields.items():
        if value < least:
            raise UserError(f"{_flag(name)}: got {value}, accepted: whole numbers from {least}")


def require_positive(**fields: float) -> None:
    """Refuse a number that is not finite and above nought, naming its field."""
    for name, value in fields.items():
        if not 0 < value < math.inf:
            raise UserError(f"{_flag(name)}: got {value}, accepted: numbers above 0")


def _flag(field: str) -> str:
    return "--" + field.replace("_", "-")


def stack_tables(tables: Sequence[Table]) -> Table:
    """One table from several with the same columns."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
