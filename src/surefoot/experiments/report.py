"""An experiment's outcome on disk. What is already there is never lost without being asked."""

import csv
import json
from collections.abc import Callable
from dataclasses import asdict
from itertools import count
from pathlib import Path
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
    """Tables as CSV, figures as PNG and SVG, and last the summary: where it stands, all stand."""
    try:
        for name, table in outcome.tables.items():
            _replace(directory / f"{name}.csv", lambda path, table=table: _write_csv(path, table))
        for name, figure in outcome.figures.items():
            for ending in ("png", "svg"):
                _replace(
                    directory / f"{name}.{ending}",
                    lambda path, figure=figure: style.save(figure, path),
                )
        text = json.dumps(summary(experiment, settings, outcome), indent=2, allow_nan=False)
        _replace(directory / SUMMARY, lambda path: path.write_text(text + "\n"))
    except OSError as error:
        raise UserError(f"--out: could not write to {directory} ({error.strerror})") from error


def summary(experiment: Experiment, settings: Settings, outcome: Outcome) -> dict[str, Any]:
    """What `summary.json` says."""
    return {
        "experiment": experiment.name,
        "seeds": settings.seeds,
        "steps": settings.steps,
        "claims": [each.as_json() for each in outcome.claims],
        "settings": asdict(settings),  # pyright: ignore[reportArgumentType]
        "version": surefoot.__version__,
    }


def _replace(path: Path, write_to: Callable[[Path], Any]) -> None:
    """Write beside the path, then rename: a reader sees the old file or the whole new one."""
    partial = path.with_name(f".partial-{path.name}")
    try:
        write_to(partial)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _write_csv(path: Path, table: Table) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
