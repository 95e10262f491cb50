"""An experiment's outcome on disk. What is already there is never lost without being asked."""

import csv
import json
from dataclasses import asdict
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import surefoot
from surefoot.experiments.base import Experiment, Outcome, Settings, Table
from surefoot.figures import style
from surefoot.types import UserError

SUMMARY = "summary.json"
HOME = Path("reproductions")


def choose_directory(experiment: Experiment, out: Path | None, *, overwrite: bool) -> Path:
    """A directory for the results, made now so that a bad choice fails before the work."""
    if out is None:
        names = (experiment.name if n == 1 else f"{experiment.name}-{n}" for n in count(1))
        out = next(HOME / name for name in names if not (HOME / name / SUMMARY).exists())
    if (out / SUMMARY).exists() and not overwrite:
        raise UserError(f"--out: {out} already holds results, accepted: another directory, or --overwrite")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"--out: got {out}, accepted: a directory that can be written ({error.strerror})"
        ) from error
    return out


def write(experiment: Experiment, settings: Settings, outcome: Outcome, directory: Path) -> None:
    """Tables as CSV, figures as PNG and SVG, and a summary.

    All are written aside first and then moved in, the summary last: where it stands, all stand.
    """
    try:
        with TemporaryDirectory(dir=directory, prefix=".partial-") as aside:
            for name, table in outcome.tables.items():
                _write_csv(Path(aside, f"{name}.csv"), table)
            for name, figure in outcome.figures.items():
                for ending in ("png", "svg"):
                    style.save(figure, Path(aside, f"{name}.{ending}"))
            text = json.dumps(summary(experiment, settings, outcome), indent=2, allow_nan=False)
            Path(aside, SUMMARY).write_text(text + "\n")
            for path in sorted(Path(aside).iterdir(), key=lambda path: path.name == SUMMARY):
                path.replace(directory / path.name)
    except OSError as error:
        raise UserError(f"--out: could not write to {directory} ({error.strerror})") from error


def summary(experiment: Experiment, settings: Settings, outcome: Outcome) -> dict[str, Any]:
    """What `summary.json` says."""
    return {
        "experiment": experiment.name,
        "seeds": settings.seeds,
        "steps": settings.steps,
        "claims": [each.as_json() for each in outcome.claims],
        "settings": asdict(settings),
        "version": surefoot.__version__,
    }


def _write_csv(path: Path, table: Table) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
