"""The contract of an experiment: settings in; claims, tables and a figure out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple, cast

from matplotlib.figure import Figure

from surefoot.claims import Claim
from surefoot.errors import require
from surefoot.settings import Settings, checked
from surefoot.sweeps.plan import PlannedRun
from surefoot.tables import Table

Advance = Callable[[float], None]
"""Reports progress: called with the fraction of all work that was just done."""

Sweep = Callable[[Sequence[PlannedRun]], Mapping[str, Path]]
"""Runs a plan to its end and returns the directory of each run by the run's name."""


@dataclass(frozen=True, kw_only=True)
class ExperimentConfig(Settings):
    """Settings that every experiment has."""

    seeds: int
    """Independent repetitions."""
    steps: int
    """Length of each repetition, in the unit that the experiment documents. The default is full length."""


class Outcome(NamedTuple):
    """The results of an experiment."""

    claims: Sequence[Claim]
    tables: Mapping[str, Table]
    figure: Figure


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment of the paper."""

    name: str
    title: str
    intervals: str
    """How its intervals are computed, for the reader of its claims."""
    tables: tuple[str, ...]
    """Names of its tables, each of which becomes a CSV file."""
    config: type[ExperimentConfig]
    """Its settings class."""
    empirical: bool = True
    """Whether its claims are about training, which needs full length, rather than about mathematics."""
    min_seeds: int = 1
    """Fewest seeds that decide an empirical claim."""


@dataclass(frozen=True, kw_only=True)
class DirectExperiment(Experiment):
    """An experiment that computes everything in this process."""

    run: Callable[[Any, Advance], Outcome]


@dataclass(frozen=True, kw_only=True)
class StoredExperiment(Experiment):
    """An experiment that stores each part of its work: it can be interrupted and resumed."""

    run: Callable[[Any, Advance, Any], Outcome]
    """From settings, progress and the `Parts` that are stored."""


@dataclass(frozen=True, kw_only=True)
class SweptExperiment(Experiment):
    """An experiment that trains many runs, each in its own directory: it can be interrupted and resumed."""

    run: Callable[[Any, Sweep], Outcome]


def chosen_names(field: str, text: str, known: Iterable[str]) -> list[str]:
    """The names in a list with commas, in the order in which the known ones are listed."""
    accepted = list(known)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        require(field, name, name in accepted, ", ".join(accepted))
    require(field, "nothing", bool(names), f"some of {', '.join(accepted)}")
    return [name for name in accepted if name in names]


def names_from(default: str, known: Iterable[str]) -> Any:
    """A field of settings that lists names with commas."""

    def check(field: str, text: str) -> None:
        chosen_names(field, text, known)

    return checked(default, check)


def verdicts_allowed(
    experiment: Experiment, settings: ExperimentConfig, claims: Sequence[Claim]
) -> list[Claim]:
    """Claims with the verdicts that these settings allow.

    Runs of an empirical experiment that are too short or too few decide nothing: all claims are undecided,
    except those about exact quantities.
    """
    full_length = cast(
        "int", next(each.default for each in fields(experiment.config) if each.name == "steps")
    )
    is_enough = settings.steps >= full_length and settings.seeds >= experiment.min_seeds
    decides = is_enough or not experiment.empirical
    return [each if decides or each.exact else each.undecided() for each in claims]
