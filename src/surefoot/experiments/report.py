"""The results of an experiment on disk. Existing files are only overwritten if the user asks for it."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from surefoot.claims import Claim
from surefoot.errors import UserError
from surefoot.experiments.base import Experiment, ExperimentConfig, Outcome, Table
from surefoot.experiments.parts import PARTS
from surefoot.figures import style
from surefoot.runs.directory import new_directory, read_config
from surefoot.runs.provenance import provenance
from surefoot.sweeps.ledger import LEDGER

SUMMARY = "summary.json"
REPRODUCTIONS_DIRECTORY = Path("reproductions")
"""The directory of results for which no other is given."""


def file_names(experiment: Experiment) -> list[str]:
    """The files that an experiment writes. The summary is the last: if it exists, all do."""
    figures = [f"{experiment.name}.{ending}" for ending in ("png", "svg")]
    return [*(f"{table}.csv" for table in experiment.tables), *figures, SUMMARY]


def results_directory(experiment: Experiment, out: Path | None, *, overwrite: bool) -> Path:
    """A directory for the results, made before the work so that a mistake is noticed early."""
    if out is None:
        return new_directory(REPRODUCTIONS_DIRECTORY, experiment.name)
    existing = _existing_files(experiment, out)
    if existing and not overwrite:
        raise UserError(
            f"out: {out} already holds {', '.join(existing)}, accepted: another directory, or overwrite"
        )
    return _writable(out)


def resumable_directory(experiment: Experiment, out: Path | None, *, overwrite: bool) -> Path:
    """The directory of an experiment's runs or parts: a new one, or an earlier one that is resumed."""
    out = out or REPRODUCTIONS_DIRECTORY / experiment.name
    existing = _existing_files(experiment, out)
    if existing and not overwrite and not _is_of(experiment, out):
        raise UserError(
            f"out: {out} already holds {', '.join(existing)} of something else, "
            "accepted: another directory, or overwrite"
        )
    return _writable(out)


def _existing_files(experiment: Experiment, out: Path) -> list[str]:
    """The files among those that an experiment writes that exist already."""
    return [name for name in file_names(experiment) if (out / name).exists()]


def _is_of(experiment: Experiment, out: Path) -> bool:
    """Whether a directory is this experiment's, by its summary, the ledger of a sweep, or stored parts."""
    try:
        return bool(json.loads((out / SUMMARY).read_text())["experiment"] == experiment.name)
    except FileNotFoundError:
        return (out / LEDGER).exists() or (out / PARTS).is_dir()
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _writable(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise UserError(
            f"out: got {out}, accepted: a directory that can be written ({error.strerror})"
        ) from error
    return out


def write(
    experiment: Experiment,
    settings: ExperimentConfig,
    outcome: Outcome,
    directory: Path,
    runs: Iterable[Path] = (),
) -> list[Path]:
    """Write tables as CSV, the figure as PNG and SVG, and a summary; returns their paths.

    All files are written to a temporary directory before the first is moved here. An old summary is deleted
    before the files that it belongs to are replaced.
    """
    try:
        with TemporaryDirectory(dir=directory, prefix=".partial-") as temporary:
            for name in experiment.tables:
                _write_csv(Path(temporary, f"{name}.csv"), outcome.tables[name])
            for ending in ("png", "svg"):
                style.save(outcome.figure, Path(temporary, f"{experiment.name}.{ending}"))
            contents = summary(experiment, settings, outcome.claims, runs)
            text = json.dumps(contents, indent=2, allow_nan=False)
            Path(temporary, SUMMARY).write_text(text + "\n")
            (directory / SUMMARY).unlink(missing_ok=True)
            return [Path(temporary, name).replace(directory / name) for name in file_names(experiment)]
    except OSError as error:
        raise UserError(f"out: could not write to {directory} ({error.strerror})") from error


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
        "runs_begun_by": sorted({_first_revision(read_config(run)) for run in runs}),
    }


def _first_revision(config: Mapping[str, Any]) -> str:
    """The version and, if it is known, the revision of the source that a run began with."""
    return " ".join(str(config[name]) for name in ("version", "revision") if config.get(name))


def _write_csv(path: Path, table: Table) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
