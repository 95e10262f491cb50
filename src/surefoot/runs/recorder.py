"""Where the log of training goes: files, a user's loggers, the terminal."""

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from surefoot.runs.disk import DiskError
from surefoot.runs.display import Display
from surefoot.runs.log import LogFiles, Logger, Scalars
from surefoot.runs.tally import EpisodeRow


class Recorder:
    """Passes on what training has to say, with the time it took.

    Where `patient`, a full disk is reported and training goes on: what could not be written is tried
    again later.
    """

    def __init__(
        self, home: Path | None, loggers: Sequence[Logger], display: Display, start: int, *, patient: bool
    ) -> None:
        self._files = None if home is None else LogFiles(home)
        self._loggers, self._display, self._start, self._patient = loggers, display, start, patient
        self._began = time.monotonic()

    def __enter__(self) -> "Recorder":
        self._display.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.__exit__(kind, error, trace)
        if self._files is not None:
            # After an error, that one is what matters.
            self.attempt(self._files.close) if error is None else _quietly(self._files.close)

    def show(self, step: int, scalars: Scalars) -> None:
        """Let those who watch see how far it is."""
        self._display.update(step, scalars)

    def episodes(self, rows: Sequence[EpisodeRow]) -> None:
        """Write down episodes that ended."""
        if self._files is not None:
            self._files.episodes(rows)

    def scalars(self, step: int, scalars: Scalars) -> None:
        """Tell everyone what was measured at a step."""
        elapsed = time.monotonic() - self._began
        timing = {"time/fps": (step - self._start) / elapsed, "time/elapsed": elapsed}
        if self._files is not None:
            self._files.scalars(step, scalars)
            self._files.timing(step, timing)
            self.attempt(self._files.flush)
        for log in self._loggers:
            log(step, {**scalars, **timing})

    def log_ends(self) -> dict[str, Any] | None:
        """Where the log's files end."""
        return None if self._files is None else self._files.ends()

    def attempt(self, write: Callable[[], None]) -> bool:
        """Write something; whether there was room."""
        try:
            write()
        except DiskError as error:
            if not self._patient:
                raise
            warnings.warn(f"{error}; training goes on without it", stacklevel=2)
            return False
        return True


def _quietly(close: Callable[[], None]) -> None:
    with suppress(DiskError, OSError):
        close()
