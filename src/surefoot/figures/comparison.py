"""Groups of runs: learning curves, a panel for each task, and beside the curves the final scores."""

from collections.abc import Mapping
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from surefoot.figures.style import (
    ALEATORIC,
    BIASED,
    EPISTEMIC,
    OTHER_COLORS,
    PANELS_PER_ROW,
    TOTAL,
    line_with_band,
    show_steps,
    styled,
    window_middles,
)
from surefoot.tables import Table, rows_where

COLORS = (ALEATORIC, EPISTEMIC, TOTAL, BIASED, *OTHER_COLORS)
FEW_POINTS = 15
"""Points of a curve that are marked, because the line between them is no measurement."""
LEGEND_CHARACTERS = 11
"""Characters of labels for which there is room in an inch of the legend."""


@styled
def draw(curves: Table, runs: Table, scores: Table, *, metric: str, all_tasks: str) -> Figure:
    """Interquartile means over seeds with their intervals; dots are the scores of single runs.

    Args:
        curves: By task and group, in windows of steps: interquartile means, NaN where there is none, and the
            ends of their intervals.
        runs: The score of each run.
        scores: By task and group: the number of seeds, interquartile means of scores and the ends of their
            intervals.
        metric: What is measured.
        all_tasks: The name of the task whose scores are those on all tasks, normalised.
    """
    tasks = list(dict.fromkeys(scores["task"].tolist()))
    groups = list(dict.fromkeys(scores["group"].tolist()))
    colors = dict(zip(groups, cycle(COLORS), strict=False))
    columns = min(PANELS_PER_ROW, len(tasks))
    rows = -(-len(tasks) // columns)
    beside = 0.5 + 0.18 * len(groups)
    width = max((3.6 + beside) * columns, 6.5)
    labels = [f"{group} ({_seeds_text(rows_where(scores, 'group', group))})" for group in groups]
    legend_columns = max(1, int(LEGEND_CHARACTERS * width / (max(map(len, labels)) + 6)))
    legend_rows = -(-len(groups) // legend_columns)
    figure = Figure(figsize=(width, 3.1 * rows + 0.6 + 0.2 * legend_rows))
    grid = figure.add_gridspec(rows, 2 * columns, width_ratios=[3.6, beside] * columns)
    for number, task in enumerate(tasks):
        row, column = divmod(number, columns)
        of_task = rows_where(scores, "task", task)
        if task == all_tasks:
            axes = figure.add_subplot(grid[row, 2 * column : 2 * column + 2])
            _draw_normalised(axes, of_task, colors)
        else:
            axes = figure.add_subplot(grid[row, 2 * column])
            _draw_curves(axes, rows_where(curves, "task", task), colors)
            axes.set_ylabel(metric)
            beside_axes = figure.add_subplot(grid[row, 2 * column + 1], sharey=axes)
            _draw_scores(beside_axes, rows_where(runs, "task", task), of_task, colors)
        axes.set_title(task)
    handles = [Line2D([], [], color=color) for color in colors.values()]
    figure.legend(handles, labels, loc="outside lower left", ncols=legend_columns)
    title = "Interquartile mean over seeds, 95 % stratified bootstrap (dots: runs)"
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def _seeds_text(scores: Table) -> str:
    """The number of seeds, which may differ between tasks."""
    fewest, most = scores["seeds"].min(), scores["seeds"].max()
    return f"{fewest} seed{'s' if most > 1 else ''}" if fewest == most else f"{fewest} to {most} seeds"


def _draw_curves(axes: Axes, curves: Table, colors: Mapping[str, str]) -> None:
    for group, color in colors.items():
        part = rows_where(curves, "group", group)
        if len(part["step"]):
            known = ~np.isnan(part["iqm"])
            middles = window_middles(part["step"])[known]
            values = (part[name][known] for name in ("iqm", "iqm_low", "iqm_high"))
            line_with_band(axes, middles, *values, color=color, label=group)
            if len(middles) <= FEW_POINTS:
                axes.lines[-1].set_marker("o")
                axes.lines[-1].set_markersize(4)
    show_steps(axes, int(curves["step"].max()))


def _draw_scores(axes: Axes, runs: Table, scores: Table, colors: Mapping[str, str]) -> None:
    for position, (group, color) in enumerate(colors.items()):
        dots = rows_where(runs, "group", group)["score"]
        axes.plot(np.full(len(dots), position + 0.3), dots, "o", color=color, alpha=0.5, markersize=4, mew=0)
        _draw_interval(axes, rows_where(scores, "group", group), position, color, upright=True)
    axes.set(xlim=(-0.7, len(colors) - 0.3), xticks=[], xlabel="final")
    axes.tick_params(left=False, labelleft=False)
    axes.spines["left"].set_visible(False)


def _draw_normalised(axes: Axes, scores: Table, colors: Mapping[str, str]) -> None:
    for position, (group, color) in enumerate(colors.items()):
        _draw_interval(axes, rows_where(scores, "group", group), -position, color, upright=False)
    axes.set(
        ylim=(0.5 - len(colors), 0.5), yticks=[], xlabel="final; 0: the worst run of a task, 1: the best"
    )


def _draw_interval(axes: Axes, score: Table, position: float, color: str, *, upright: bool) -> None:
    """The interquartile mean of a group as a dot, its interval as a line through it."""
    for value, low, high in zip(score["iqm"], score["iqm_low"], score["iqm_high"], strict=True):
        ends = np.array([position, position]), np.array([low, high])
        dot = np.array([position]), np.array([value])
        (x, y), (dot_x, dot_y) = (ends, dot) if upright else (ends[::-1], dot[::-1])
        axes.plot(x, y, color=color, linewidth=2.2, solid_capstyle="butt")
        axes.plot(dot_x, dot_y, "o", color=color, markersize=6)
