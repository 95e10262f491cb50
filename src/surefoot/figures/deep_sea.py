"""Deep sea: episodes to solve each size, a panel for agents, explorers and posteriors."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, BIASED, EPISTEMIC, INK, TOTAL, styled

COLORS = (ALEATORIC, EPISTEMIC, TOTAL, BIASED, "#8c6d31", "#5c5c8a", INK)
MARKERS = ("o", "s", "D", "v", "P", "X", "*")
JITTER = 0.05
"""Candidates stand side by side, this part of a size apart, so that none hides another."""


@styled
def draw(table: Mapping[str, NDArray[Any]]) -> Figure:
    """A filled mark at the median episode over seeds, a hollow one where half of them solved nothing."""
    groups = list(dict.fromkeys(table["group"].tolist()))
    figure = Figure(figsize=(4.6 * len(groups), 4.6))
    panels: list[Axes] = list(figure.subplots(1, len(groups), squeeze=False, sharey=True).flat)
    sizes = np.unique(table["size"])
    for axes, group in zip(panels, groups, strict=True):
        rows = table["group"] == group
        _draw_group(axes, {name: values[rows] for name, values in table.items()}, sizes)
        axes.set_title(group)
        axes.set_xticks(range(len(sizes)), [f"{size}" for size in sizes])
        axes.set(xlabel="size", yscale="log")
    panels[0].set_ylabel("episodes until solved")
    seeds = len(np.unique(table["seed"]))
    title = f"Deep sea: median of {seeds} seeds; hollow: at least half of the seeds unsolved after so many"
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def _draw_group(axes: Axes, table: Mapping[str, NDArray[Any]], sizes: NDArray[Any]) -> None:
    labels = list(dict.fromkeys(table["label"].tolist()))
    for number, (label, color, marker) in enumerate(zip(labels, cycle(COLORS), cycle(MARKERS), strict=False)):
        offset = (number - (len(labels) - 1) / 2) * JITTER
        medians: list[float] = []
        solved: list[bool] = []
        for size in sizes:
            rows = (table["label"] == label) & (table["size"] == size)
            # A run that did not solve it counts as longer than any that did.
            episodes = np.where(
                np.isnan(table["solved_episode"][rows]), np.inf, table["solved_episode"][rows]
            )
            median = float(np.median(episodes))
            solved.append(bool(np.isfinite(median)))
            medians.append(median if np.isfinite(median) else float(table["episodes"][rows].max()))
        places = np.arange(len(sizes)) + offset
        line = axes.plot(places, medians, color=color, linewidth=0.9, alpha=0.7)[0]
        line.set_label(label)
        line.set_marker(marker)
        line.set_markerfacecolor("none")
        for place, median, is_solved in zip(places, medians, solved, strict=True):
            if is_solved:
                axes.plot([place], [median], marker, color=color)
    axes.legend(loc="upper left", fontsize=8)
