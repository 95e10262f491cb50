"""The progress display of training: two live lines on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Mapping
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

SHOWN = {
    "rollout/ep_rew_mean": "return",
    "eval/mean_reward": "evaluated",
    "uncertainty/epistemic_mean": "epistemic",
    "uncertainty/aleatoric_mean": "aleatoric",
}
PLAIN_EVERY = 30.0
"""Seconds between lines where there is no terminal."""


class ProgressDisplay:
    """Steps, speed, returns, events, both uncertainties and the time left, on standard error."""

    def __init__(self, title: str, start: int, end: int, *, on: bool = True) -> None:
        self._title, self._end, self._on = title, end, on
        self._seen: dict[str, float] = {}
        self._step, self._speed = start, 0.0
        self._moved = self._spoke = time.monotonic()
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

    def __enter__(self) -> "ProgressDisplay":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
        elif self._on:
            self._say()

    def update(self, step: int, scalars: Mapping[str, float]) -> None:
        """Show how far it is, and what is known so far."""
        now = time.monotonic()
        if step > self._step:
            self._speed = (step - self._step) / max(now - self._moved, 1e-9)
            self._step, self._moved = step, now
        self._seen |= scalars
        self._progress.update(self._task, completed=step, speed=f"{self._speed:,.0f} steps/s")
        if self._live is not None:
            self._live.update(self._lines())
        elif self._on and now - self._spoke > PLAIN_EVERY:
            self._spoke = now
            self._say()

    def _lines(self) -> Group:
        return Group(self._progress, Text(self._facts(), style="dim"))

    def _say(self) -> None:
        facts = ", ".join(each for each in (f"{self._speed:,.0f} steps/s", self._facts()) if each)
        sys.stderr.write(f"{self._title}: {self._step:,}/{self._end:,} steps, {facts}\n")

    def _facts(self) -> str:
        known = [f"{word} {self._seen[name]:.3g}" for name, word in SHOWN.items() if name in self._seen]
        events = {name.removeprefix("info/"): n for name, n in self._seen.items() if name.startswith("info/")}
        return ", ".join([*known, *(f"{name} {count:,.0f}" for name, count in events.items())])
