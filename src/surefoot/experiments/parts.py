"""Parts of an experiment on disk: what was computed once is read when the same command runs again."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.experiments.base import Table
from surefoot.system.disk import replace_file

PARTS = "parts"
"""The directory of the parts in that of an experiment's results."""

Tables = Mapping[str, Table]


class Parts:
    """Tables of each part, stored with the settings that they were computed with."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / PARTS

    def tables(self, name: str, settings: Mapping[str, Any], compute: Callable[[], Tables]) -> Tables:
        """The stored tables of a part if its settings were these; otherwise new ones, which are stored."""
        path = self._directory / f"{name}.json"
        wanted = json.loads(json.dumps(dict(settings)))
        stored = _read(path)
        if stored is not None and stored["settings"] == wanted:
            return {
                table: {column: np.array(values) for column, values in columns.items()}
                for table, columns in stored["tables"].items()
            }
        tables = compute()
        plain = {
            table: {column: values.tolist() for column, values in columns.items()}
            for table, columns in tables.items()
        }
        self._directory.mkdir(parents=True, exist_ok=True)
        replace_file(path, json.dumps({"settings": wanted, "tables": plain}).encode())
        return tables


def _read(path: Path) -> dict[str, Any] | None:
    """What is stored; None if there is no such file, or one that cannot be read."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and {"settings", "tables"} <= set(found) else None
