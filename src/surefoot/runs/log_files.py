"""The log files of a run: `metrics.jsonl`, `timing.jsonl`, `episodes.csv` and TensorBoard events.

A checkpoint stores the lengths of the files and their last bytes, so that a run that is resumed from it has
its log, too, exactly as it was then.
"""

import csv
import io
import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from surefoot.runs.metrics import EpisodeRow
from surefoot.runs.tensorboard import EventFile, Scalars
from surefoot.system.disk import AppendedFile, DiskError, disk_error, replace_file

Logger = Callable[[int, Scalars], None]
"""Gets a step and the scalars of that step; `lambda step, scalars: wandb.log(dict(scalars), step=step)`."""

METRICS, TIMING, EPISODES, TENSORBOARD = "metrics.jsonl", "timing.jsonl", "episodes.csv", "tensorboard"
ELAPSED, CPU = "time/elapsed", "time/cpu"
"""Two clocks of a run: seconds since its process began to train, and the seconds of a core that it used."""
EPISODE_COLUMNS = ("episode", "step", "return", "length", "terminated", "env")
TAIL = 2**16
"""Bytes of a file's end that a checkpoint stores."""


def _end_of(file: AppendedFile) -> dict[str, Any]:
    """The length of a file once the disk has all of it, and its last bytes."""
    length = file.sync()
    with file.path.open("rb") as reader:
        reader.seek(max(length - TAIL, 0))
        return {"bytes": length, "tail": reader.read(TAIL).decode()}


def restore(path: Path, end: Mapping[str, Any]) -> bool:
    """Restore the length and the end of a file; False if more of it is lost than a checkpoint stores."""
    length, tail = int(end["bytes"]), str(end["tail"]).encode()
    before_tail = length - len(tail)
    size = path.stat().st_size if path.exists() else 0
    with path.open("r+b" if path.exists() else "w+b") as file:
        if size < before_tail:
            # The complete lines that are left, then those that the checkpoint stores.
            kept = file.read().rfind(b"\n") + 1
            tail = tail[tail.find(b"\n") + 1 :]
        else:
            kept = before_tail
        file.truncate(kept)
        file.seek(kept)
        file.write(tail)
        file.flush()
        os.fsync(file.fileno())
    return size >= before_tail


class LogFiles:
    """The files of one run's log.

    What depends on the clock goes to `timing.jsonl` and `tensorboard/timing`, so that equal runs have
    equal files otherwise.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        try:
            self._open(directory)
        except OSError as error:
            raise self._full(error) from error

    def _open(self, directory: Path) -> None:
        self._metrics, self._timing, self._episodes = (
            AppendedFile(directory / name) for name in (METRICS, TIMING, EPISODES)
        )
        if (directory / EPISODES).stat().st_size == 0:
            self._episodes.add(_csv_line(EPISODE_COLUMNS))
        self._events = EventFile(directory / TENSORBOARD)
        self._timing_events = EventFile(directory / TENSORBOARD / "timing")
        self._all = (self._metrics, self._timing, self._episodes, self._events, self._timing_events)

    def _full(self, error: OSError) -> DiskError:
        return disk_error(f"{self._directory}: log", TAIL, self._directory, error)

    def episodes(self, rows: Sequence[EpisodeRow]) -> None:
        """Add episodes that ended."""
        for row in rows:
            self._episodes.add(_csv_line(tuple(row)))

    def scalars(self, step: int, scalars: Scalars) -> None:
        """Add the scalars of a step."""
        self._metrics.add(_json_line({"step": step, **scalars}))
        self._events.scalars(step, scalars)

    def timing(self, step: int, scalars: Scalars) -> None:
        """Add the scalars that depend on the clock."""
        self._timing.add(_json_line({"step": step, **scalars}))
        self._timing_events.scalars(step, scalars)

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self._each(AppendedFile.flush)

    def close(self) -> None:
        """Flush and close."""
        self._each(AppendedFile.close)

    def _each(self, do: Callable[[AppendedFile], None]) -> None:
        """Do something with every file, even if it fails with one of them."""
        failed: OSError | None = None
        for each in self._all:
            try:
                do(each)
            except OSError as error:
                failed = error
        if failed is not None:
            raise self._full(failed) from failed

    def ends(self) -> dict[str, Any]:
        """Where the files end, for a checkpoint."""
        try:
            return {METRICS: _end_of(self._metrics), EPISODES: _end_of(self._episodes)}
        except OSError as error:
            raise self._full(error) from error


def rewind(directory: Path, step: int, ends: Mapping[str, Any]) -> list[str]:
    """Bring a run's log back to where it was at a checkpoint; returns the files that lost some lines."""
    try:
        missing = [name for name, end in ends.items() if not restore(directory / name, end)]
        kept = [line for line in _read_json_lines(directory / TIMING) if line["step"] <= step]
        replace_file(directory / TIMING, "".join(map(_json_line, kept)).encode())
        for part, lines in (("", read_metrics(directory)), ("timing", kept)):
            for path in (directory / TENSORBOARD / part).glob("events.out.tfevents.*"):
                path.unlink()
            events = EventFile(directory / TENSORBOARD / part)
            for line in lines:
                scalars = {name: value for name, value in line.items() if name != "step"}
                events.scalars(int(line["step"]), scalars)
            events.close()
    except OSError as error:
        raise disk_error(f"{directory}: log", TAIL, directory, error) from error
    return missing


def is_complete(directory: Path, step: int, ends: Mapping[str, Any], *, has_last_entry: bool) -> bool:
    """Whether nothing is missing from the log of a run that ended at this step.

    `has_last_entry` says whether an entry was due after the last checkpoint.
    """
    for name, end in ends.items():
        path = directory / name
        data = path.read_bytes() if path.exists() else b""
        beyond = data[int(end["bytes"]) :]
        if not data[: int(end["bytes"])].endswith(str(end["tail"]).encode()):
            return False
        if name == METRICS and has_last_entry:
            if [line["step"] for line in json_records(beyond.decode(errors="replace"))] != [step]:
                return False
        elif beyond:
            return False
    return True


EMPTY_ENDS: dict[str, Any] = {name: {"bytes": 0, "tail": ""} for name in (METRICS, EPISODES)}
"""The ends of the log files of a run that has not begun."""


def read_metrics(directory: Path) -> list[dict[str, float]]:
    """The lines of a run's metrics; an unfinished last one is left out."""
    return _read_json_lines(directory / METRICS)


def read_scalar(directory: Path, name: str) -> list[tuple[float, float]]:
    """The entries of a scalar, of those that depend on the clock too: steps and finite values."""
    lines = [*read_metrics(directory), *_read_json_lines(directory / TIMING)]
    entries = ((line["step"], line[name]) for line in lines if name in line)
    return [(step, value) for step, value in entries if math.isfinite(value)]


def scalar_names(directory: Path) -> list[str]:
    """The names of all scalars in a run's log, in alphabetical order."""
    lines = [*read_metrics(directory), *_read_json_lines(directory / TIMING)]
    return sorted({name for line in lines for name in line} - {"step"})


def latest(directory: Path) -> dict[str, float]:
    """The latest entry of a run's log with its speed; empty before the first. Only file ends are read."""
    found: dict[str, float] = {}
    for name in (METRICS, TIMING):
        with suppress(OSError), (directory / name).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - TAIL, 0))
            for line in json_records(file.read().decode(errors="replace"))[-1:]:
                found |= line
    return found


def seconds_until(directory: Path, step: int, clock: str = ELAPSED) -> float:
    """How long a run took to this step by one of its clocks, over all processes that it was trained by."""
    by_first_step: dict[int, float] = {}
    for line in _read_json_lines(directory / TIMING):
        if line["step"] <= step:
            first_step = round(line["step"] - line["time/fps"] * line[ELAPSED])
            by_first_step[first_step] = line[clock]
    return sum(by_first_step.values())


def _read_json_lines(path: Path) -> list[dict[str, float]]:
    return json_records(path.read_text(errors="replace") if path.exists() else "")


def json_records(text: str) -> list[dict[str, float]]:
    """The records in JSON lines: those that are complete and valid."""
    found: list[dict[str, float]] = []
    for line in text.split("\n")[:-1]:
        with suppress(ValueError):
            record = json.loads(line)
            found += [record] if isinstance(record, dict) and "step" in record else []
    return found


def read_episodes(directory: Path) -> list[EpisodeRow]:
    """The episodes of a run; an unfinished last line is left out."""
    path = directory / EPISODES
    _header, *rows = (path.read_text(errors="replace").split("\n")[:-1] if path.exists() else []) or [""]
    return [
        # Files of version 0.1 have no column for the environment.
        EpisodeRow(int(episode), int(step), float(total), int(length), terminated == "True", *map(int, env))
        for episode, step, total, length, terminated, *env in csv.reader(rows)
    ]


def _json_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record) + "\n"


def _csv_line(values: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()
