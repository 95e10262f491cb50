"""The progress of a sweep: a live table on a terminal, otherwise a line for every change."""

import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from surefoot.runs.log_files import latest
from surefoot.runs.progress import LiveDisplay
from surefoot.sweeps.runner import Phase, RunStatus, run_directory

REFRESH_SECONDS = 1.0
"""Time between two readings of the runs' logs, if no run changes its phase."""
REPORT_SECONDS = 60.0
"""Time between two lines without a terminal, if no run changes its phase."""
MAX_FINISHED_SHOWN = 5
"""How many of the runs that failed last, and of those done last, a live table shows."""
COLORS = {Phase.RUNNING: "cyan", Phase.DONE: "green", Phase.FAILED: "red", Phase.WAITING: "dim"}


class RunProgress(NamedTuple):
    """A run's status and the latest numbers of its log."""

    status: RunStatus
    step: int
    speed: float | None
    """Steps per second."""
    episode_return: float | None
    """Mean return of the last training episodes."""

    @property
    def seconds_left(self) -> float | None:
        """Time to the end of this run, at its speed so far; None if it is not running or not yet logged."""
        if self.status.phase != Phase.RUNNING or not self.speed:
            return None
        return (self.status.run.steps - self.step) / self.speed


def read_progress(sweep_dir: Path, status: RunStatus) -> RunProgress:
    """A run's progress according to its log."""
    entry = latest(run_directory(sweep_dir, status.run))
    return RunProgress(
        status, int(entry.get("step", 0)), entry.get("time/fps"), entry.get("rollout/ep_rew_mean")
    )


def make_table(runs: Sequence[RunProgress]) -> Table:
    """A table with a row for each run, and another for the reason if it failed."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("run", overflow="fold")
    for name in ("steps", "steps/s", "return", "time left"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("")
    for each in runs:
        run, phase, reason = each.status
        speed = "" if each.speed is None or phase == Phase.WAITING else f"{each.speed:,.0f}"
        episode_return = "" if each.episode_return is None else f"{each.episode_return:.4g}"
        left = "" if each.seconds_left is None else format_duration(each.seconds_left)
        colored_phase = f"[{COLORS[phase]}]{phase}[/]"
        table.add_row(run.name, f"{each.step:,}/{run.steps:,}", speed, episode_return, left, colored_phase)
        if reason:
            table.add_row(f"  [red]{escape(reason)}[/]")
    return table


def count_phases(runs: Sequence[RunProgress]) -> str:
    """The number of runs in each phase, and roughly the time left, as text."""
    counts = Counter(each.status.phase for each in runs)
    parts = [f"{counts[phase]} {phase}" for phase in Phase if counts[phase]]
    open_phases = (Phase.RUNNING, Phase.WAITING)
    steps = sum(each.status.run.steps - each.step for each in runs if each.status.phase in open_phases)
    # A waiting run is expected to have the median of all known speeds, which a run that has just started
    # and still compiles does not move.
    seconds_per_step = [1 / each.speed for each in runs if each.speed]
    if steps and seconds_per_step and counts[Phase.RUNNING]:
        seconds = steps * median(seconds_per_step) / counts[Phase.RUNNING]
        parts.append(f"about {format_duration(seconds)} left")
    return ", ".join(parts)


def format_duration(seconds: float) -> str:
    """A duration such as `1:05` (minutes and seconds) or `2 h 05 min`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes}:{rest:02}"


class SweepDisplay(LiveDisplay):
    """Shows the progress of a sweep on standard error."""

    def __init__(self, sweep_dir: Path, title: str) -> None:
        self._sweep_dir, self._title = sweep_dir, title
        self._console = Console(stderr=True)
        self._live = Live(console=self._console, auto_refresh=False) if self._console.is_terminal else None
        self._refreshed = self._reported = 0.0
        self._phases: dict[str, Phase] = {}
        self._done: dict[str, RunProgress] = {}

    def __call__(self, statuses: Sequence[RunStatus]) -> None:
        """Show the progress of all runs, if one has changed its phase or enough time has passed."""
        phases = {each.run.name: each.phase for each in statuses}
        changed = {name for name, phase in phases.items() if self._phases.get(name, Phase.WAITING) != phase}
        now = time.monotonic()
        if not changed and now < self._refreshed + REFRESH_SECONDS:
            return
        self._refreshed = now
        runs = [self._read_progress(each) for each in statuses]
        if self._live is not None:
            self._live.update(self._live_table(runs), refresh=True)
        elif changed or now > self._reported + REPORT_SECONDS:
            self._reported = now
            # Runs that were done before this sweep began are not reported.
            for each in (each for each in runs if each.status.run.name in changed and self._phases):
                sys.stderr.write(_line(each) + "\n")
            sys.stderr.write(f"{self._title}: {count_phases(runs)}\n")
        self._phases = phases

    def _read_progress(self, status: RunStatus) -> RunProgress:
        """A run's progress; the log of a run that is done is read only once."""
        name = status.run.name
        if name in self._done:
            return self._done[name]
        found = read_progress(self._sweep_dir, status)
        if status.phase == Phase.DONE:
            self._done[name] = found
        return found

    def _live_table(self, runs: Sequence[RunProgress]) -> Table:
        """The counts first, then running, failed and done runs: a low terminal cuts off the end."""
        by_phase = {phase: [each for each in runs if each.status.phase == phase] for phase in Phase}
        failed, done = by_phase[Phase.FAILED], list(self._done.values())
        finished = [*failed[-MAX_FINISHED_SHOWN:], *done[-MAX_FINISHED_SHOWN:]]
        table = make_table([*by_phase[Phase.RUNNING], *finished])
        table.title = Text(f"{self._title}: {count_phases(runs)}")
        table.title_justify = "left"
        return table


def _line(progress: RunProgress) -> str:
    """A run's progress as a line of text."""
    run, phase, reason = progress.status
    episode_return = "" if progress.episode_return is None else f", return {progress.episode_return:.4g}"
    return f"{run.name}: {reason or phase}, {progress.step:,}/{run.steps:,} steps{episode_return}"
