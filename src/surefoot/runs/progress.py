"""The progress display of training: two live lines on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping
from types import TracebackType
from typing import TypeVar

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

SHOWN_SCALARS = {
    "rollout/ep_rew_mean": "return",
    "eval/mean_reward": "evaluated",
    "uncertainty/epistemic_mean": "epistemic",
    "uncertainty/aleatoric_mean": "aleatoric",
}
SECONDS_BETWEEN_LINES = 30.0
"""Seconds between two lines where there is no terminal."""


AnyDisplay = TypeVar("AnyDisplay", bound="LiveDisplay")


class LiveDisplay:
    """A display on standard error that updates in place on a terminal; a context manager."""

    _live: Live | None = None

    def __enter__(self: AnyDisplay) -> AnyDisplay:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()


class ProgressDisplay(LiveDisplay):
    """Shows steps, speed, returns, events, both uncertainties and the time left on standard error."""

    def __init__(self, title: str, start: int, end: int, *, on: bool = True) -> None:
        self._title, self._end, self._on = title, end, on
        self._scalars: dict[str, float] = {}
        self._step, self._speed = start, 0.0
        self._advanced_at = self._printed_at = time.monotonic()
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} steps"),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TextColumn("left:"),
            TimeRemainingColumn(),
        )
        self._task: TaskID = self._progress.add_task(title, total=end, completed=start, speed="compiling")
        console = Console(stderr=True)
        live = on and console.is_terminal
        self._live = Live(self._lines(), console=console, refresh_per_second=4) if live else None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self._on and self._live is None:
            self._print_line()

    def update(self, step: int, scalars: Mapping[str, float]) -> None:
        """Show the number of steps, and the scalars known so far."""
        now = time.monotonic()
        if step > self._step:
            self._speed = (step - self._step) / max(now - self._advanced_at, 1e-9)
            self._step, self._advanced_at = step, now
        self._scalars |= scalars
        self._progress.update(self._task, completed=step, speed=f"{self._speed:,.0f} steps/s")
        if self._live is not None:
            self._live.update(self._lines())
        elif self._on and now - self._printed_at > SECONDS_BETWEEN_LINES:
            self._printed_at = now
            self._print_line()

    def _lines(self) -> Group:
        return Group(self._progress, Text(self._summary(), style="dim"))

    def _print_line(self) -> None:
        facts = ", ".join(each for each in (f"{self._speed:,.0f} steps/s", self._summary()) if each)
        sys.stderr.write(f"{self._title}: {self._step:,}/{self._end:,} steps, {facts}\n")

    def _summary(self) -> str:
        known = [
            f"{word} {self._scalars[name]:.3g}"
            for name, word in SHOWN_SCALARS.items()
            if name in self._scalars
        ]
        events = {
            name.removeprefix("info/"): n for name, n in self._scalars.items() if name.startswith("info/")
        }
        return ", ".join([*known, *(f"{name} {count:,.0f}" for name, count in events.items())])
