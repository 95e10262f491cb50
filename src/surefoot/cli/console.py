"""The console that tables are printed to."""

import sys

from rich.console import Console

FILE_WIDTH = 120
"""Columns of a table in a file or a pipe."""


def table_console(file_width: int = FILE_WIDTH, *, highlight: bool = True) -> Console:
    """A console as wide as the terminal. A file has no width; rich would take it for a narrow terminal."""
    return Console(width=None if sys.stdout.isatty() else file_width, highlight=highlight)
