"""The files of a result: tables, a figure and a summary. Existing ones are only replaced on request."""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from surefoot.errors import UserError
from surefoot.figures import style
from surefoot.runs.directory import new_directory
from surefoot.tables import Table, write_csv

SUMMARY = "summary.json"
FIGURE_ENDINGS = ("png", "svg")


class ResultFiles(NamedTuple):
    """Which files a result consists of, by the name of its figure and the names of its tables."""

    figure: str
    tables: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """The names of all files. The summary is the last: if it exists, all do."""
        figures = [f"{self.figure}.{ending}" for ending in FIGURE_ENDINGS]
        return [*(f"{table}.csv" for table in self.tables), *figures, SUMMARY]

    def existing(self, directory: Path) -> list[str]:
        """The names of those that a directory holds already."""
        return [name for name in self.names if (directory / name).exists()]

    def directory(self, out: Path | None, home: Path, name: str, *, overwrite: bool) -> Path:
        """The directory to write to: `out` if there is nothing to lose, by default a new one in `home`.

        It is made before the work, so that a mistake is noticed early.
        """
        if out is None:
            return new_directory(home, name)
        existing = self.existing(out)
        if existing and not overwrite:
            raise UserError(
                f"out: {out} already holds {', '.join(existing)}, accepted: another directory, or overwrite"
            )
        return writable(out)

    def write(
        self, directory: Path, tables: Mapping[str, Table], figure: Figure, summary: Mapping[str, Any]
    ) -> list[Path]:
        """Write tables as CSV, the figure as PNG and SVG, and the summary as JSON; returns their paths.

        All files are written to a temporary directory before the first is moved here. An old summary is
        deleted before the files that it belongs to are replaced.
        """
        try:
            with TemporaryDirectory(dir=directory, prefix=".partial-") as temporary:
                for name in self.tables:
                    write_csv(Path(temporary, f"{name}.csv"), tables[name])
                for ending in FIGURE_ENDINGS:
                    style.save(figure, Path(temporary, f"{self.figure}.{ending}"))
                text = json.dumps(summary, indent=2, allow_nan=False)
                Path(temporary, SUMMARY).write_text(text + "\n")
                (directory / SUMMARY).unlink(missing_ok=True)
                return [Path(temporary, name).replace(directory / name) for name in self.names]
        except OSError as error:
            raise UserError(f"out: could not write to {directory} ({error.strerror})") from error


def writable(out: Path) -> Path:
    """A directory that is made if it does not exist, and that can be written to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise UserError(
            f"out: got {out}, accepted: a directory that can be written ({error.strerror})"
        ) from error
    return out
