"""Handing over: what is gained, and what happens, at each share of steps that a fallback decides."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, BIASED, EPISTEMIC, TOTAL, styled

RETURN = "return"
"""The quantity that is a mean; all others are shares of episodes."""
COLORS = (EPISTEMIC, ALEATORIC, BIASED, TOTAL)
MAX_PANELS = 4


@styled
def draw(table: Mapping[str, NDArray[Any]], title: str) -> Figure:
    """One panel for each quantity against the realised hand-over rate, one line for each group.

    Columns of the table: `group`, `quantity`, `budget`, `rate` (realised), `measured`, `low` and `high`.
    """
    quantities = list(dict.fromkeys(table["quantity"].tolist()))[:MAX_PANELS]
    figure = Figure(figsize=(5.2 * len(quantities), 4.4))
    panels: list[Axes] = list(figure.subplots(1, len(quantities), squeeze=False).flat)
    groups = list(dict.fromkeys(table["group"].tolist()))
    for axes, quantity in zip(panels, quantities, strict=True):
        for group, color in zip(groups, cycle(COLORS), strict=False):
            rows = (table["quantity"] == quantity) & (table["group"] == group)
            _draw_line(axes, {name: values[rows] for name, values in table.items()}, color, group)
        axes.set_xlabel("share of steps handed over (numbers: budgets)")
        axes.margins(x=0.15, y=0.1)
        axes.set_ylabel("mean return" if quantity == RETURN else f"share of episodes with {quantity}")
    panels[0].set_title(title)
    if len(groups) > 1:
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(groups))
    return figure


def _draw_line(axes: Axes, rows: Mapping[str, NDArray[Any]], color: str, label: str) -> None:
    order = np.argsort(rows["budget"], kind="stable")
    rate, measured, budget = (rows[name][order] for name in ("rate", "measured", "budget"))
    reach = np.abs(np.stack([rows["low"][order], rows["high"][order]]) - measured)
    axes.plot(rate, measured, color=color, linewidth=1.2, label=label)
    axes.errorbar(rate, measured, reach, color=color, fmt="o", markersize=5, elinewidth=1, capsize=2)
    # Budgets that were not used up fall on one point: it is labelled with all of them.
    places: dict[tuple[float, float], list[float]] = {}
    for x, y, value in zip(rate, measured, budget, strict=True):
        places.setdefault((round(float(x), 2), float(y)), []).append(float(value))
    for number, ((x, y), values) in enumerate(places.items()):
        text = f"{values[0]:g}" if len(values) == 1 else f"{values[0]:g} to {values[-1]:g}"
        below = number % 2 == 1  # In turn, so that neighbours do not overlap.
        axes.annotate(
            text, (x, y), (5, -13 if below else 6), textcoords="offset points", fontsize=8, color=color
        )
