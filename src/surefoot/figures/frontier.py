"""The frontier of an attitude to risk: mean return against the worst tenth of returns, and events."""

from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import EPISTEMIC, INK, styled

MAX_EVENTS = 3
"""Events of `info` that are drawn; the table has all."""
SAME_PLACE = 0.04
"""Points nearer to each other than this part of the axes share a label."""

Table = Mapping[str, NDArray[Any]]


@styled
def draw(table: Table, title: str) -> Figure:
    """Left: the frontier, from neutral to averse. Right: the share of episodes with each event."""
    events = [name for name in table if name.startswith("event_") and not name.endswith(("_low", "_high"))]
    events = events[:MAX_EVENTS]
    figure = Figure(figsize=(5.6 + 3.6 * len(events), 4.2))
    panels = figure.subplots(1, 1 + len(events), squeeze=False, width_ratios=[1.5, *([1] * len(events))])[0]
    _draw_frontier(panels[0], table)
    for axes, event in zip(panels[1:], events, strict=True):
        _draw_event(axes, table, event)
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def _draw_frontier(axes: Axes, table: Table) -> None:
    x, y = table["cvar"], table["mean"]
    x_reach, y_reach = _reach(table, "cvar"), _reach(table, "mean")
    axes.plot(x, y, color=INK, linewidth=0.8, alpha=0.5)
    spans = [float(np.ptp(values)) or 1.0 for values in (x, y)]
    groups = _groups(np.stack([x / spans[0], y / spans[1]], axis=-1))
    colors = mpl.colormaps["viridis_r"](np.linspace(0.15, 0.95, len(groups)))
    for group, color in zip(groups, colors, strict=True):
        names = table["attitude"][group]
        axes.errorbar(
            x[group],
            y[group],
            xerr=x_reach[:, group],
            yerr=y_reach[:, group],
            fmt="o",
            color=color,
            elinewidth=1,
            label=names[0] if len(group) == 1 else f"{names[0]} to {names[-1]}",
        )
    axes.margins(0.12)
    axes.legend()
    axes.set(xlabel="CVaR 0.1 of returns: mean of the worst tenth", ylabel="mean return")
    axes.set_title("Each attitude, 95 % intervals over episodes")


def _groups(points: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Runs of consecutive points that lie in about the same place."""
    jumps = np.linalg.norm(np.diff(points, axis=0), axis=-1) > SAME_PLACE
    return np.split(np.arange(len(points)), np.flatnonzero(jumps) + 1)


def _draw_event(axes: Axes, table: Table, event: str) -> None:
    places = np.arange(len(table["attitude"]))
    axes.errorbar(
        places, table[event], yerr=_reach(table, event), fmt="o-", color=EPISTEMIC, linewidth=1, elinewidth=1
    )
    axes.set_xticks(places, table["attitude"].tolist(), rotation=60, ha="right", rotation_mode="anchor")
    axes.set_ylim(-0.02 * float(np.nanmax(table[f"{event}_high"])), None)
    axes.set_title(f"Episodes with {event.removeprefix('event_')}")
    axes.set_ylabel("share of episodes")


def _reach(table: Table, name: str) -> NDArray[np.float64]:
    """How far the interval reaches to both sides of the estimate; nothing where there is none."""
    low, high = table[name] - table[f"{name}_low"], table[f"{name}_high"] - table[name]
    return np.maximum(np.nan_to_num(np.stack([low, high])), 0)
