"""Runs as the page lists them: found below one directory, and read without being touched.

A name that a page sends is looked up among the runs that were found, and never made into a path.
"""

import math
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from surefoot.errors import UserError, require
from surefoot.runs.directory import CHECKPOINTS, CONFIG, read_config
from surefoot.runs.log_files import METRICS, json_records

MAX_RUNS = 500
MAX_DIRECTORIES = 5_000
"""Directories that a search for runs enters, and runs that it lists."""
MAX_DEPTH = 5
SEARCH_SECONDS = 2.0
"""How long a list of runs is used before the directory is searched again."""
MAX_CONFIG_BYTES = 2**20
MAX_LOG_BYTES = 32 * 2**20
"""Bytes of a log that are read; of a longer one, the last."""
MAX_POINTS = 600
"""Entries of a log that are sent; of a longer one, every second, third, ..."""
MAX_SERIES = 40

CURVES = ("rollout/", "eval/", "uncertainty/", "info/", "train/")
"""The beginnings of the names of the numbers that the page draws."""


class Entries(NamedTuple):
    """Entries of a log, and where in the file the next one will begin."""

    lines: list[dict[str, float]]
    end: int


class RunReader:
    """The runs below a directory."""

    def __init__(self, home: Path) -> None:
        self.home = home.resolve()
        self._found: dict[str, Path] = {}
        self._searched = -math.inf

    def names(self) -> list[str]:
        """The names of all runs, that changed last first."""
        if time.monotonic() - self._searched > SEARCH_SECONDS:
            found = sorted(_runs_below(self.home, MAX_DEPTH), key=_changed, reverse=True)[:MAX_RUNS]
            self._found = {_name(self.home, path): path for path in found}
            self._searched = time.monotonic()
        return list(self._found)

    def path(self, name: str) -> Path:
        """The directory of a run that was found."""
        if name not in self._found and name not in self.names():
            raise UserError("run: not found, accepted: a run of the list")
        return self._found[name]

    def summary(self, name: str) -> dict[str, Any]:
        """What a run is, and how far it is."""
        path = self.path(name)
        config = _config(path)
        latest = entries(path, tail=2**16).lines[-1:]
        return {
            "name": name,
            "env": str(config.get("env", ""))[:200],
            "agent": str(config.get("agent", ""))[:200],
            "seed": config.get("seed") if isinstance(config.get("seed"), int) else 0,
            "steps": config.get("steps") if isinstance(config.get("steps"), int) else 0,
            "step": int(latest[0]["step"]) if latest else 0,
            "checkpoints": checkpoints(path),
        }

    def summaries(self) -> list[dict[str, Any]]:
        """All runs; one that cannot be read is left out."""
        found: list[dict[str, Any]] = []
        for name in self.names():
            try:
                found.append(self.summary(name))
            except (UserError, OSError, ValueError, TypeError):
                continue
        return found

    def checkpoint(self, name: str, wanted: str) -> Path:
        """Where a checkpoint of a run is or was; the newest one if its name is empty.

        A run deletes its older checkpoints while it is trained, also one whose model is loaded already.
        """
        path = self.path(name)
        known = [] if wanted else checkpoints(path)
        if not wanted and not known:
            raise UserError("checkpoint: this run has none yet, accepted: a run that has one")
        found = wanted or known[0]
        require("checkpoint", found[:60], _is_checkpoint(found), "step_000010000 and so on")
        return path / CHECKPOINTS / found


def checkpoints(run: Path) -> list[str]:
    """The names of a run's checkpoints: the newest first, then the best model."""
    try:
        names = [each.name for each in os.scandir(run / CHECKPOINTS) if each.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    good = [each for each in names if _is_checkpoint(each)]
    kinds = {kind: [each for each in good if each.startswith(kind)] for kind in ("step", "best")}
    newest_first = {kind: sorted(each, reverse=True)[:20] for kind, each in kinds.items()}
    return [*newest_first["step"], *newest_first["best"]]


def _is_checkpoint(name: str) -> bool:
    return re.fullmatch(r"(step|best)_[0-9]{1,15}", name) is not None


def entries(run: Path, start: int = 0, *, tail: int = MAX_LOG_BYTES) -> Entries:
    """The complete entries of a run's log from a place in the file on; of a long file, the last ones."""
    path = run / METRICS
    if not _is_file(path):
        return Entries([], 0)
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        begin = max(start, size - tail)
        file.seek(begin)
        data = file.read(size - begin)
    if begin > start:
        data = data[data.find(b"\n") + 1 :]
    complete = data[: data.rfind(b"\n") + 1]
    return Entries(json_records(complete.decode(errors="replace")), size - len(data) + len(complete))


def log_size(run: Path) -> int:
    """The length of a run's log in bytes; a run that is resumed from a checkpoint may shorten it."""
    try:
        return (run / METRICS).stat().st_size
    except OSError:
        return 0


def series(lines: list[dict[str, Any]]) -> dict[str, list[list[float]]]:
    """Of each number in a log, its steps and values; long ones are thinned."""
    every = max(1, math.ceil(len(lines) / MAX_POINTS))
    found: dict[str, list[list[float]]] = {}
    for number, line in enumerate(lines):
        # Evaluations are rare, so that none is left out.
        kept = number % every == 0 or number == len(lines) - 1
        for name, value in line.items():
            if not name.startswith(CURVES) or not (kept or name.startswith("eval/")):
                continue
            if name not in found and len(found) >= MAX_SERIES:
                continue
            if isinstance(value, int | float) and math.isfinite(value):
                found.setdefault(name, []).append([line["step"], float(f"{value:.6g}")])
    return found


def newest_run(home: Path) -> Path | None:
    """The run below a directory that changed last."""
    return max(_runs_below(home, MAX_DEPTH), key=_changed, default=None)


def _runs_below(home: Path, depth: int) -> Iterator[Path]:
    """Directories with a run's configuration; links are not followed."""
    waiting, entered = [(home, depth)], 0
    while waiting and entered < MAX_DIRECTORIES:
        here, left = waiting.pop()
        entered += 1
        if _is_file(here / CONFIG) and (_is_file(here / METRICS) or (here / CHECKPOINTS).is_dir()):
            yield here
        elif left:
            try:
                inside = [each for each in os.scandir(here) if each.is_dir(follow_symlinks=False)]
            except OSError:
                continue
            waiting += [(here / each.name, left - 1) for each in inside if not each.name.startswith(".")]


def _is_file(path: Path) -> bool:
    """Whether a file is there, and not a link, which could lead out of the directory of runs."""
    return path.is_file() and not path.is_symlink()


def _changed(run: Path) -> float:
    """When a run's log last changed."""
    for name in (METRICS, CONFIG):
        try:
            return (run / name).stat().st_mtime
        except OSError:
            continue
    return 0.0


def _name(home: Path, path: Path) -> str:
    """A run's name: its path below the directory of runs, with what is no text replaced."""
    name = path.relative_to(home).as_posix() if path != home else path.name
    return name.encode(errors="replace").decode()


def _config(path: Path) -> dict[str, Any]:
    if (path / CONFIG).stat().st_size > MAX_CONFIG_BYTES:
        raise UserError(f"{CONFIG}: larger than {MAX_CONFIG_BYTES:,} bytes")
    return read_config(path)
