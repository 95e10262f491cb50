"""What a sweep shows: one live table on a terminal, a line whenever something happens elsewhere."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from surefoot.runs.log_files import latest
from surefoot.sweeps.runner import Phase, Status, path_of

LOOK_EVERY = 1.0
"""Seconds between two looks at the runs' logs."""
SPEAK_EVERY = 60.0
"""Seconds between two lines where nothing happens and there is no terminal."""
LATELY = 5
"""Runs that are done, or failed, of which a live table still shows the last."""
COLORS = {Phase.RUNNING: "cyan", Phase.DONE: "green", Phase.FAILED: "red", Phase.WAITING: "dim"}


class Glance(NamedTuple):
    """A run, and what its log says."""

    status: Status
    step: int
    speed: float | None
    """Steps per second."""
    episode_return: float | None
    """Mean of the last episodes in training."""

    @property
    def seconds_left(self) -> float | None:
        """Until this run's end, at its speed so far."""
        if self.status.phase != Phase.RUNNING or not self.speed:
            return None
        return (self.status.run.steps - self.step) / self.speed


def glance_at(home: Path, status: Status) -> Glance:
    """What a run's log says now."""
    said = latest(path_of(home, status.run))
    return Glance(status, int(said.get("step", 0)), said.get("time/fps"), said.get("rollout/ep_rew_mean"))


def table_of(glances: Sequence[Glance]) -> Table:
    """One line a run."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("run", overflow="fold")
    for name in ("steps", "steps/s", "return", "left"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for each in glances:
        run, phase, why = each.status
        speed = "" if each.speed is None or phase == Phase.WAITING else f"{each.speed:,.0f}"
        gain = "" if each.episode_return is None else f"{each.episode_return:.4g}"
        left = "" if each.seconds_left is None else duration(each.seconds_left)
        words = f"[{COLORS[phase]}]{phase}[/]"
        table.add_row(run.name, f"{each.step:,}/{run.steps:,}", speed, gain, left, words)
        if why:
            table.add_row(f"  [red]{escape(why)}[/]")
    return table


def counts_of(glances: Sequence[Glance]) -> str:
    """How many runs are where, and how long the rest will take, roughly."""
    counts = Counter(each.status.phase for each in glances)
    words = [f"{counts[phase]} {phase}" for phase in Phase if counts[phase]]
    open_phases = (Phase.RUNNING, Phase.WAITING)
    steps = sum(each.status.run.steps - each.step for each in glances if each.status.phase in open_phases)
    # Those that wait may be slow or fast: they count as the middle one of all that are known, which is not
    # moved by one that has just been started and still compiles.
    paces = [1 / each.speed for each in glances if each.speed]
    if steps and paces and counts[Phase.RUNNING]:
        seconds = steps * median(paces) / counts[Phase.RUNNING]
        words.append(f"about {duration(seconds)} left")
    return ", ".join(words)


def duration(seconds: float) -> str:
    """As people say it."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes}:{rest:02}"


class Display:
    """Shows a sweep on standard error."""

    def __init__(self, home: Path, title: str) -> None:
        self._home, self._title = home, title
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None
        self._looked = self._spoke = 0.0
        self._known: dict[str, Phase] = {}
        self._finished: dict[str, Glance] = {}

    def __enter__(self) -> "Display":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def __call__(self, statuses: Sequence[Status]) -> None:
        """Show where the runs are."""
        phases = {each.run.name: each.phase for each in statuses}
        changed = {name for name, phase in phases.items() if self._known.get(name, Phase.WAITING) != phase}
        now = time.monotonic()
        if not changed and now < self._looked + LOOK_EVERY:
            return
        self._looked = now
        glances = [self._glance(each) for each in statuses]
        if self._live is not None:
            self._live.update(self._shown(glances), refresh=True)
        elif changed or now > self._spoke + SPEAK_EVERY:
            self._spoke = now
            # What was done before this sweep began is not news.
            news = [each for each in glances if each.status.run.name in changed and self._known]
            for each in news:
                run, phase, why = each.status
                gain = "" if each.episode_return is None else f", return {each.episode_return:.4g}"
                sys.stderr.write(f"{run.name}: {why or phase}, {each.step:,}/{run.steps:,} steps{gain}\n")
            sys.stderr.write(f"{self._title}: {counts_of(glances)}\n")
        self._known = phases

    def _glance(self, status: Status) -> Glance:
        """A fresh look, but where a run will not change any more."""
        name = status.run.name
        if name in self._finished:
            return self._finished[name]
        found = glance_at(self._home, status)
        if status.phase == Phase.DONE:
            self._finished[name] = found
        return found

    def _shown(self, glances: Sequence[Glance]) -> Table:
        """All in numbers; then what is under way, failed, was done last: a terminal may cut off the end."""
        by_phase = {phase: [each for each in glances if each.status.phase == phase] for phase in Phase}
        lately = [*by_phase[Phase.FAILED][-LATELY:], *list(self._finished.values())[-LATELY:]]
        table = table_of([*by_phase[Phase.RUNNING], *lately])
        table.title = Text(f"{self._title}: {counts_of(glances)}")
        table.title_justify = "left"
        return table
