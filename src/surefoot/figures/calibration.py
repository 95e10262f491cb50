"""Calibration: the error of the aleatoric uncertainty under each setting, a panel for each task."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, EPISTEMIC, INK, seed_count_text, styled
from surefoot.statistics import mean_estimate

MEASURES = {
    "aleatoric_error": ("error of the aleatoric sd, all states and actions", None),
    "noisy_ratio": ("aleatoric sd / exact, where there is noise", 1.0),
    "certain_sd": ("aleatoric sd where there is no noise", 0.0),
}
"""What each column of panels shows, and its ideal."""


@styled
def draw(table: Mapping[str, NDArray[Any]]) -> Figure:
    """A row for each task and a column for each measure; candidates from top to bottom."""
    tasks = list(dict.fromkeys(table["task"].tolist()))
    names = list(dict.fromkeys(table["candidate"].tolist()))
    figure = Figure(figsize=(12, 0.24 * len(names) * len(tasks) + 2.2))
    panels = figure.subplots(len(tasks), len(MEASURES), squeeze=False, sharey=True, sharex="col")
    for row, task in zip(panels, tasks, strict=True):
        for axes, (measure, (label, ideal)) in zip(row, MEASURES.items(), strict=True):
            rows = table["task"] == task
            _draw_panel(axes, {key: values[rows] for key, values in table.items()}, names, measure)
            if ideal is not None:
                axes.axvline(ideal, color=INK, linewidth=0.8, linestyle=":")
            if task == tasks[-1]:
                axes.set_xlabel(label)
        row[0].set_yticks(range(len(names)), names)
        row[0].set_title(task)
    panels[0][0].invert_yaxis()
    seeds = seed_count_text(table)
    figure.suptitle(f"UA-DQN on tasks with exact answers, {seeds}", x=0.01, ha="left")
    return figure


def _draw_panel(axes: Axes, table: Mapping[str, NDArray[Any]], names: list[str], measure: str) -> None:
    for height, name in enumerate(names):
        value, interval = mean_estimate(table[measure][table["candidate"] == name])
        color = ALEATORIC if name.startswith("calibrated") else EPISTEMIC
        axes.hlines(height, *(interval or (value, value)), color=color, linewidth=1.2)
        axes.plot(value, height, "o", color=color, markersize=4)
    axes.grid(axis="y", linewidth=0.3)
