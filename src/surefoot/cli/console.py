"""The console that tables are printed to, and the progress bar."""

import contextlib
import sys
from collections.abc import Callable, Generator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

FILE_WIDTH = 120
"""Columns of a table in a file or a pipe."""


def table_console(file_width: int = FILE_WIDTH, *, highlight: bool = True) -> Console:
    """A console as wide as the terminal. A file has no width; rich would take it for a narrow terminal."""
    return Console(width=None if sys.stdout.isatty() else file_width, highlight=highlight)


@contextlib.contextmanager
def progress_bar(name: str) -> Generator[Callable[[float], None]]:
    """A progress bar on standard error, because standard output is for results.

    Gives the function that is called with the fraction of all work that was just done.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(name, total=1)
        yield lambda part: progress.advance(task, part)
