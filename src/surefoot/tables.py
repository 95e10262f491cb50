"""Tables as plain columns, and as CSV."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Table = Mapping[str, NDArray[Any]]
"""Columns by name, all of one length."""


def stack_tables(tables: Sequence[Table]) -> Table:
    """The rows of several tables with equal columns, one table after the other."""
    return {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}


def rows_where(table: Table, column: str, value: Any) -> Table:
    """The rows of a table with this value in a column."""
    rows = table[column] == value
    return {name: values[rows] for name, values in table.items()}


def write_csv(path: Path, table: Table) -> None:
    """Write a table as CSV, with the names of its columns in the first line."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
