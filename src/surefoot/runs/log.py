"""The log of a run: scalars to files, to TensorBoard, and to wherever a user sends them.

A checkpoint remembers how long the files were, and their ends: a run that goes on from it has its log, too,
exactly as it was then.
"""

import csv
import io
import json
import os
import struct
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from surefoot.runs.disk import DiskError, disk_error, replace_file
from surefoot.runs.tally import EpisodeRow

Scalars = Mapping[str, float]

Logger = Callable[[int, Scalars], None]
"""Gets a step and the scalars of that step; `lambda step, scalars: wandb.log(dict(scalars), step=step)`."""

METRICS, TIMING, EPISODES, TENSORBOARD = "metrics.jsonl", "timing.jsonl", "episodes.csv", "tensorboard"
EPISODE_COLUMNS = ("episode", "step", "return", "length", "terminated")
TAIL = 2**16
"""Bytes of a file's end that a checkpoint keeps."""


class Lines:
    """A file that grows by lines; what a full disk did not take is kept and tried again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._pending = bytearray()

    def add(self, line: str | bytes) -> None:
        """One more line, or record, to be written at the next flush."""
        self._pending += line.encode() if isinstance(line, str) else line

    def flush(self) -> None:
        """Hand the lines to the operating system: a killed process loses nothing of them."""
        while self._pending:
            del self._pending[: os.write(self._handle, self._pending)]

    def end(self) -> dict[str, Any]:
        """Wait until the disk has all; the length of the file, and its end."""
        self.flush()
        os.fsync(self._handle)
        length = os.fstat(self._handle).st_size
        with self.path.open("rb") as file:
            file.seek(max(length - TAIL, 0))
            return {"bytes": length, "tail": file.read(TAIL).decode()}

    def close(self) -> None:
        """Flush and close."""
        try:
            self.flush()
        finally:
            os.close(self._handle)


def restore(path: Path, end: Mapping[str, Any]) -> bool:
    """Give a file the length and the end that it had; False where more of it is lost than is known."""
    length, tail = int(end["bytes"]), str(end["tail"]).encode()
    sure = length - len(tail)
    size = path.stat().st_size if path.exists() else 0
    with path.open("r+b" if path.exists() else "w+b") as file:
        if size < sure:
            # What is left of it up to a whole line, then what is known.
            kept = file.read().rfind(b"\n") + 1
            tail = tail[tail.find(b"\n") + 1 :]
        else:
            kept = sure
        file.truncate(kept)
        file.seek(kept)
        file.write(tail)
        file.flush()
        os.fsync(file.fileno())
    return size >= sure


@contextmanager
def _hidden(module: str) -> Generator[None]:
    """For imports that would bring a module with them where it is installed, and do without elsewhere.

    tensorboardX names PyTorch's tensors in its annotations: a second, and 175 MB for the rest of the run.
    """
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # pyright: ignore[reportArgumentType]
    try:
        yield
    finally:
        del sys.modules[module]


class Events(Lines):
    """TensorBoard's events: its messages as tensorboardX makes them, in a file like our others."""

    def __init__(self, directory: Path) -> None:
        with _hidden("torch"):
            from tensorboardX import record_writer, summary
            from tensorboardX.proto import event_pb2

        self._event: Any = event_pb2.Event  # pyright: ignore[reportAttributeAccessIssue]
        self._scalar, self._checksum = summary.scalar, record_writer.masked_crc32c
        directory.mkdir(parents=True, exist_ok=True)
        super().__init__(directory / f"events.out.tfevents.{time.time_ns()}.surefoot")
        self._add_event(file_version="brain.Event:2")

    def scalars(self, step: int, scalars: Scalars) -> None:
        """Scalars of a step."""
        for name, value in scalars.items():
            self._add_event(step=step, summary=self._scalar(name, value))

    def _add_event(self, **fields: Any) -> None:
        """A record: its length, the message, and a checksum of each."""
        message = self._event(wall_time=time.time(), **fields).SerializeToString()
        for part in (struct.pack("<Q", len(message)), message):
            self.add(part + struct.pack("<I", self._checksum(part)))


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
            Lines(directory / name) for name in (METRICS, TIMING, EPISODES)
        )
        if (directory / EPISODES).stat().st_size == 0:
            self._episodes.add(_csv_line(EPISODE_COLUMNS))
        self._events = Events(directory / TENSORBOARD)
        self._timing_events = Events(directory / TENSORBOARD / "timing")
        self._all = (self._metrics, self._timing, self._episodes, self._events, self._timing_events)

    def _full(self, error: OSError) -> DiskError:
        return disk_error(f"{self._directory}: log", TAIL, self._directory, error)

    def episodes(self, rows: Sequence[EpisodeRow]) -> None:
        """Write down episodes that ended."""
        for row in rows:
            self._episodes.add(_csv_line((row.episode, row.step, row.gain, row.length, row.terminated)))

    def scalars(self, step: int, scalars: Scalars) -> None:
        """Write down what was measured at a step."""
        self._metrics.add(_json_line({"step": step, **scalars}))
        self._events.scalars(step, scalars)

    def timing(self, step: int, scalars: Scalars) -> None:
        """Write down how fast it goes."""
        self._timing.add(_json_line({"step": step, **scalars}))
        self._timing_events.scalars(step, scalars)

    def flush(self) -> None:
        """Hand everything to the operating system."""
        self._each(Lines.flush)

    def close(self) -> None:
        """Flush and close."""
        self._each(Lines.close)

    def _each(self, do: Callable[[Lines], None]) -> None:
        """Do something to every file, though it fails with one of them."""
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
            return {METRICS: self._metrics.end(), EPISODES: self._episodes.end()}
        except OSError as error:
            raise self._full(error) from error


def rewind(directory: Path, step: int, ends: Mapping[str, Any]) -> list[str]:
    """Bring a run's log back to where a checkpoint knew it; the files of which something is missing."""
    try:
        missing = [name for name, end in ends.items() if not restore(directory / name, end)]
        kept = [line for line in _read_json_lines(directory / TIMING) if line["step"] <= step]
        replace_file(directory / TIMING, "".join(map(_json_line, kept)).encode())
        for part, lines in (("", read_metrics(directory)), ("timing", kept)):
            for path in (directory / TENSORBOARD / part).glob("events.out.tfevents.*"):
                path.unlink()
            events = Events(directory / TENSORBOARD / part)
            for line in lines:
                scalars = {name: value for name, value in line.items() if name != "step"}
                events.scalars(int(line["step"]), scalars)
            events.close()
    except OSError as error:
        raise disk_error(f"{directory}: log", TAIL, directory, error) from error
    return missing


def is_complete(directory: Path, step: int, ends: Mapping[str, Any], was_due: bool) -> bool:
    """Whether the log of a run that has ended at this step is all there."""
    for name, end in ends.items():
        path = directory / name
        data = path.read_bytes() if path.exists() else b""
        beyond = data[int(end["bytes"]) :]
        if not data[: int(end["bytes"])].endswith(str(end["tail"]).encode()):
            return False
        # Only what was said last, at a step at which nothing was due, comes after the checkpoint.
        if name == METRICS and not was_due:
            if [line["step"] for line in _parsed(beyond.decode(errors="replace"))] != [step]:
                return False
        elif beyond:
            return False
    return True


NOTHING: dict[str, Any] = {name: {"bytes": 0, "tail": ""} for name in (METRICS, EPISODES)}
"""Ends of the log of a run that has not begun."""


def read_metrics(directory: Path) -> list[dict[str, float]]:
    """The lines of a run's metrics; an unfinished last one is left out."""
    return _read_json_lines(directory / METRICS)


def latest(directory: Path) -> dict[str, float]:
    """What a run logged last, speed and all; empty before it did. Only the files' ends are read."""
    found: dict[str, float] = {}
    for name in (METRICS, TIMING):
        with suppress(OSError), (directory / name).open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - TAIL, 0))
            for line in _parsed(file.read().decode(errors="replace"))[-1:]:
                found |= line
    return found


def seconds_until(directory: Path, step: int) -> float:
    """How long a run took to this step, all its sittings together."""
    sittings: dict[int, float] = {}
    for line in _read_json_lines(directory / TIMING):
        if line["step"] <= step:
            elapsed = line["time/elapsed"]
            began_at = round(line["step"] - line["time/fps"] * elapsed)
            sittings[began_at] = elapsed
    return sum(sittings.values())


def _read_json_lines(path: Path) -> list[dict[str, float]]:
    return _parsed(path.read_text(errors="replace") if path.exists() else "")


def _parsed(text: str) -> list[dict[str, float]]:
    """The lines that are whole and make sense."""
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
        EpisodeRow(int(episode), int(step), float(gain), int(length), terminated == "True")
        for episode, step, gain, length, terminated in csv.reader(rows)
    ]


def _json_line(record: Mapping[str, Any]) -> str:
    return json.dumps(record) + "\n"


def _csv_line(values: Sequence[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(values)
    return line.getvalue()
