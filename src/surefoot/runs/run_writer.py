"""Where the log of training goes: files, a user's loggers, the terminal."""

import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from surefoot.runs.log_files import CPU, ELAPSED, LogFiles, Logger
from surefoot.runs.metrics import EpisodeRow
from surefoot.runs.progress import ProgressDisplay
from surefoot.runs.tensorboard import Scalars
from surefoot.system.disk import DiskError


class RunWriter:
    """Writes the log of training, with the time that it took.

    With `ignore_full_disk`, a full disk is reported and training goes on; what could not be written is tried
    again later.
    """

    def __init__(
        self,
        directory: Path | None,
        loggers: Sequence[Logger],
        display: ProgressDisplay,
        start: int,
        *,
        ignore_full_disk: bool,
    ) -> None:
        self._files = None if directory is None else LogFiles(directory)
        self._loggers, self._display, self._start = loggers, display, start
        self._ignore_full_disk = ignore_full_disk
        self._start_time, self._start_cpu_time = time.monotonic(), time.process_time()

    def __enter__(self) -> "RunWriter":
        self._display.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._display.__exit__(kind, error, trace)
        if self._files is None:
            return
        if error is None:
            self.attempt(self._files.close)
        else:
            with suppress(DiskError, OSError):  # The error that is on its way matters more.
                self._files.close()

    def show(self, step: int, scalars: Scalars) -> None:
        """Show progress on the terminal."""
        self._display.update(step, scalars)

    def episodes(self, rows: Sequence[EpisodeRow]) -> None:
        """Log episodes that ended."""
        if self._files is not None:
            self._files.episodes(rows)

    def scalars(self, step: int, scalars: Scalars) -> None:
        """Log the scalars of a step."""
        elapsed = time.monotonic() - self._start_time
        timing = {
            "time/fps": (step - self._start) / elapsed,
            ELAPSED: elapsed,
            CPU: time.process_time() - self._start_cpu_time,
        }
        if self._files is not None:
            self._files.scalars(step, scalars)
            self._files.timing(step, timing)
            self.attempt(self._files.flush)
        for log in self._loggers:
            log(step, {**scalars, **timing})

    def log_ends(self) -> dict[str, Any] | None:
        """The lengths and the ends of the log files."""
        return None if self._files is None else self._files.ends()

    def attempt(self, write: Callable[[], None]) -> bool:
        """Write something; whether it succeeded."""
        try:
            write()
        except DiskError as error:
            if not self._ignore_full_disk:
                raise
            warnings.warn(f"{error}; training continues without it", stacklevel=2)
            return False
        return True
