"""Time to score: returns by step and by time, a line for each run."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, EPISTEMIC, INK, styled

COLORS = {"paper": ALEATORIC, "fast": EPISTEMIC}


@styled
def draw(table: Mapping[str, NDArray[Any]], score: float) -> Figure:
    """The same runs twice: by environment steps, and by seconds on one core."""
    figure = Figure(figsize=(9, 3.6))
    by_step, by_time = figure.subplots(1, 2, sharey=True)
    _draw_runs(by_step, table, table["step"])
    _draw_runs(by_time, table, table["seconds"])
    for axes in (by_step, by_time):
        axes.axhline(score, color=INK, linewidth=0.8, linestyle=":")
        axes.set_xlim(left=0)
    by_step.set_ylabel("mean return of 50 episodes")
    by_step.set_xlabel("environment steps")
    by_step.xaxis.set_major_formatter(EngFormatter(sep=""))
    by_time.set_xlabel("seconds on one core")
    by_step.legend(loc="upper left")
    seeds = len(np.unique(table["seed"]))
    figure.suptitle(f"UA-DQN on Breakout, preset fast and the paper's, {seeds} seeds each", x=0.01, ha="left")
    return figure


def _draw_runs(axes: Axes, table: Mapping[str, NDArray[Any]], x: NDArray[Any]) -> None:
    for preset, color in COLORS.items():
        label: str | None = preset
        for seed in np.unique(table["seed"]):
            rows = (table["preset"] == preset) & (table["seed"] == seed)
            axes.plot(x[rows], table["mean_return"][rows], color=color, linewidth=1.2, label=label)
            label = None
