"""Appendix figure: one network with many outputs compared with an ensemble, by width."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import (
    ALEATORIC,
    EPISTEMIC,
    INK,
    SHADES,
    TOTAL,
    seed_count_text,
    styled,
)

PANEL_TITLES = {"network": "one network, 20 outputs", "ensemble": "20 networks, 1 output each"}
PANEL_WIDTHS = (10, 100)


@styled
def draw(
    table: Mapping[str, NDArray[Any]],
    by_width: Mapping[str, NDArray[Any]],
    points: Mapping[str, NDArray[Any]],
) -> Figure:
    """Left: the paper's 2 x 2 panels, for the first seed. Right: both comparisons over all widths."""
    figure = Figure(figsize=(12, 5.8))
    axes = figure.subplot_mosaic(
        [["network10", "network100", "ratio"], ["ensemble10", "ensemble100", "correlation"]],
        width_ratios=(1, 1, 1.15),
    )
    for kind in PANEL_TITLES:
        for width in PANEL_WIDTHS:
            _draw_panel(axes[f"{kind}{width}"], table, points, kind, width)
    handles, labels = axes["network10"].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower left", ncols=4)
    _draw_over_widths(axes["ratio"], by_width, "spread_ratio", TOTAL, 1, "spread: one network / ensemble")
    axes["ratio"].set_title(seed_count_text(table).removeprefix("mean of "))
    _draw_over_widths(axes["correlation"], by_width, "correlation", EPISTEMIC, 0, "correlation of outputs")
    axes["correlation"].set_xlabel("neurons in the hidden layer")
    return figure


def _draw_panel(
    axes: Axes,
    table: Mapping[str, NDArray[Any]],
    points: Mapping[str, NDArray[Any]],
    kind: str,
    width: int,
) -> None:
    rows = (table["kind"] == kind) & (table["width"] == width) & (table["seed"] == 0)
    x, mean, sd = (table[name][rows] for name in ("x", "mean", "sd"))
    for reach, shade in ((2, SHADES[1]), (1, SHADES[0])):
        axes.fill_between(
            x, mean - reach * sd, mean + reach * sd, color=shade, linewidth=0, label=f"± {reach} sd"
        )
    axes.plot(x, mean, color=ALEATORIC, linewidth=2, label="mean, first seed")
    axes.scatter(points["x"], points["y"], s=22, color=INK, zorder=3, label="data")
    axes.set(xlim=(x[0], x[-1]), ylim=_y_range(table))
    axes.set_title(f"{PANEL_TITLES[kind]}, width {width}", fontsize=10)
    axes.set_xlabel("x" if kind == "ensemble" else "")
    axes.set_ylabel("y" if width == PANEL_WIDTHS[0] else "")


def _y_range(table: Mapping[str, NDArray[Any]]) -> tuple[float, float]:
    """One range for all panels, wide enough for every mean and one standard deviation."""
    rows = np.isin(table["width"], PANEL_WIDTHS) & (table["seed"] == 0)
    mean, sd = table["mean"][rows], table["sd"][rows]
    return float((mean - sd).min()), float((mean + sd).max())


def _draw_over_widths(
    axes: Axes,
    by_width: Mapping[str, NDArray[Any]],
    name: str,
    color: str,
    ideal: float,
    label: str,
) -> None:
    width, value = by_width["width"], by_width[name]
    reach = np.abs(np.stack([by_width[f"{name}_low"], by_width[f"{name}_high"]]) - value)
    axes.errorbar(width, value, yerr=reach, color=color, marker="o", capsize=3)
    axes.axhline(ideal, color=INK, linestyle=":", label="independent outputs")
    axes.set_xscale("log")
    axes.set_xticks(width, [str(each) for each in width])
    axes.minorticks_off()
    axes.set_ylabel(label)
    axes.legend(loc="best")
