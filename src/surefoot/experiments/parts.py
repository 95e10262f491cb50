"""Parts of an experiment on disk: what was computed once is read when the same command runs again."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple

import numpy as np

from surefoot.experiments.base import Advance, Table
from surefoot.system.cores import available_cores
from surefoot.system.disk import replace_file

PARTS = "parts"
"""The directory of the parts in that of an experiment's results."""

Tables = Mapping[str, Table]


class Part(NamedTuple):
    """Work that is stored when it is done."""

    name: str
    settings: Mapping[str, Any]
    compute: Callable[[Advance], Tables]


class Parts:
    """Tables of each part, stored with the settings that they were computed with."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / PARTS

    def all_tables(self, parts: Sequence[Part], advance: Advance) -> list[Tables]:
        """The tables of all parts, of which as many are computed at once as there are cores.

        Threads suffice, since compiled programs run outside of Python's lock. Once stopped, those that are
        under way end at their next report of progress.
        """
        stopped = Event()

        def tables(part: Part) -> Tables:
            share = _Share(advance, 1 / len(parts), stopped)
            found = self.tables(part.name, part.settings, lambda: part.compute(share.advance))
            share.complete()
            return found

        with ThreadPoolExecutor(len(available_cores())) as pool:
            try:
                return [each.result() for each in [pool.submit(tables, part) for part in parts]]
            except BaseException:
                stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

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


class _Stopped(Exception):  # noqa: N818
    """Ends a part that nobody waits for any more."""


class _Share:
    """The progress of one of many parts, which is complete in the end, whether it was computed or read."""

    def __init__(self, advance: Advance, share: float, stopped: Event) -> None:
        self._advance, self._share, self._stopped, self._done = advance, share, stopped, 0.0

    def advance(self, part: float) -> None:
        """A fraction of this part was done."""
        if self._stopped.is_set():
            raise _Stopped
        self._done += part
        self._advance(part * self._share)

    def complete(self) -> None:
        """All of it is done."""
        self._advance((1 - self._done) * self._share)


def _read(path: Path) -> dict[str, Any] | None:
    """What is stored; None if there is no such file, or one that cannot be read."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and {"settings", "tables"} <= set(found) else None
