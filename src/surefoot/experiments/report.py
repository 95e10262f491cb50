"""The results of an experiment on disk."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from surefoot.claims import Claim
from surefoot.errors import UserError
from surefoot.experiments.base import Experiment, ExperimentConfig, Outcome
from surefoot.experiments.parts import PARTS
from surefoot.results import SUMMARY, ResultFiles, writable
from surefoot.runs.directory import read_config
from surefoot.runs.provenance import provenance, revisions_of
from surefoot.sweeps.ledger import LEDGER

REPRODUCTIONS_DIRECTORY = Path("reproductions")
"""The directory of results for which no other is given."""


def _files(experiment: Experiment) -> ResultFiles:
    return ResultFiles(experiment.name, experiment.tables)


def results_directory(experiment: Experiment, out: Path | None, *, overwrite: bool) -> Path:
    """A directory for the results."""
    files = _files(experiment)
    return files.directory(out, REPRODUCTIONS_DIRECTORY, experiment.name, overwrite=overwrite)


def resumable_directory(experiment: Experiment, out: Path | None, *, overwrite: bool) -> Path:
    """The directory of an experiment's runs or parts: a new one, or an earlier one that is resumed."""
    out = out or REPRODUCTIONS_DIRECTORY / experiment.name
    existing = _files(experiment).existing(out)
    if existing and not overwrite and not _is_of(experiment, out):
        raise UserError(
            f"out: {out} already holds {', '.join(existing)} of something else, "
            "accepted: another directory, or overwrite"
        )
    return writable(out)


def _is_of(experiment: Experiment, out: Path) -> bool:
    """Whether a directory is this experiment's, by its summary, the ledger of a sweep, or stored parts."""
    try:
        return bool(json.loads((out / SUMMARY).read_text())["experiment"] == experiment.name)
    except FileNotFoundError:
        return (out / LEDGER).exists() or (out / PARTS).is_dir()
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write(
    experiment: Experiment,
    settings: ExperimentConfig,
    outcome: Outcome,
    directory: Path,
    runs: Iterable[Path] = (),
) -> list[Path]:
    """Write tables, the figure and a summary; returns their paths."""
    contents = summary(experiment, settings, outcome.claims, runs)
    return _files(experiment).write(directory, outcome.tables, outcome.figure, contents)


def summary(
    experiment: Experiment, settings: ExperimentConfig, claims: Sequence[Claim], runs: Iterable[Path] = ()
) -> dict[str, Any]:
    """The contents of `summary.json`; its runs may have begun with other revisions of the source."""
    return {
        "experiment": experiment.name,
        "seeds": settings.seeds,
        "steps": settings.steps,
        "claims": [each.as_json() for each in claims],
        "settings": asdict(settings),
        **provenance(),
        "runs_begun_by": revisions_of(read_config(run) for run in runs),
    }
