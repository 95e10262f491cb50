"""An experiment's outcome on disk. What is already there is never lost without being asked."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any

from surefoot.claims import Claim
from surefoot.experiments.base import Experiment, Outcome, Settings, Table
from surefoot.figures import style
from surefoot.runs.directory import new_directory, read_config
from surefoot.runs.provenance import provenance
from surefoot.sweeps.ledger import LEDGER
from surefoot.errors import UserError

SUMMARY = "summary.json"
HOME = Path("reproductions")


def file_names(experiment: Experiment) -> list[str]:
    """All that an experiment writes; the summary last: where it stands, all stand."""
    figures = [f"{experiment.name}.{ending}" for ending in ("png", "svg")]
    return [*(f"{table}.csv" for table in experiment.tables), *figures, SUMMARY]


def choose_directory(experiment: Experiment, out: Path | None, *, overwrite: bool) -> Path:
    """A directory for the results, made now so that a bad choice fails before the work."""
    if out is None:
        return new_directory(HOME, experiment.name)
    taken = _taken(experiment, out)
    if taken and not overwrite:
        raise UserError(
            f"--out: {out} already holds {', '.join(taken)}, accepted: another directory, or --overwrite"
        )
    return _writable(out)


def continued_directory(experiment: Experiment, out: Path | None, *, overwrite: bool) -> Path:
    """The directory of an experiment's runs, new or of an earlier go; conclusions are drawn anew."""
    out = out or HOME / experiment.name
    taken = _taken(experiment, out)
    if taken and not overwrite and not _is_ours(experiment, out):
        raise UserError(
            f"--out: {out} already holds {', '.join(taken)} of something else, "
            "accepted: another directory, or --overwrite"
        )
    return _writable(out)


def _taken(experiment: Experiment, out: Path) -> list[str]:
    """Which of the files that an experiment writes are there already."""
    return [name for name in file_names(experiment) if (out / name).exists()]


def _is_ours(experiment: Experiment, out: Path) -> bool:
    """Whether what a directory holds is the experiment's: so says its summary, or the ledger of its runs."""
    try:
        return bool(json.loads((out / SUMMARY).read_text())["experiment"] == experiment.name)
    except FileNotFoundError:
        return (out / LEDGER).exists()
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _writable(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise UserError(
            f"--out: got {out}, accepted: a directory that can be written ({error.strerror})"
        ) from error
    return out


def write(
    experiment: Experiment, settings: Settings, outcome: Outcome, directory: Path, runs: Iterable[Path] = ()
) -> list[Path]:
    """Tables as CSV, the figure as PNG and SVG, and a summary; their paths.

    All are written aside before the first is moved in; an old summary goes before the files it speaks of.
    """
    try:
        with TemporaryDirectory(dir=directory, prefix=".partial-") as aside:
            for name in experiment.tables:
                _write_csv(Path(aside, f"{name}.csv"), outcome.tables[name])
            for ending in ("png", "svg"):
                style.save(outcome.figure, Path(aside, f"{experiment.name}.{ending}"))
            said = summary(experiment, settings, outcome.claims, runs)
            text = json.dumps(said, indent=2, allow_nan=False)
            Path(aside, SUMMARY).write_text(text + "\n")
            (directory / SUMMARY).unlink(missing_ok=True)
            return [Path(aside, name).replace(directory / name) for name in file_names(experiment)]
    except OSError as error:
        raise UserError(f"--out: could not write to {directory} ({error.strerror})") from error


def summary(
    experiment: Experiment, settings: Settings, claims: Sequence[Claim], runs: Iterable[Path] = ()
) -> dict[str, Any]:
    """What `summary.json` says; the runs that it is drawn from may be of other revisions than the summary."""
    return {
        "experiment": experiment.name,
        "seeds": settings.seeds,
        "steps": settings.steps,
        "claims": [each.as_json() for each in claims],
        "settings": asdict(settings),
        **provenance(),
        "runs_begun_by": sorted({_beginner(read_config(run)) for run in runs}),
    }


def _beginner(config: Mapping[str, Any]) -> str:
    """The version and, where it is known, the revision that a run began with."""
    return " ".join(str(config[name]) for name in ("version", "revision") if config.get(name))


def _write_csv(path: Path, table: Table) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
