"""Posteriors compared: what each says of both tasks, as small multiples."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, EPISTEMIC, INK, SHADES, styled

RANGE = (-4.0, 4.0)
"""Height of the panels, the same for every posterior."""


@styled
def draw(curves: Mapping[str, NDArray[Any]], means: Mapping[str, NDArray[Any]]) -> Figure:
    """A row for each task, a column for each posterior: mean and both uncertainties of the first seed."""
    tasks = list(dict.fromkeys(curves["task"].tolist()))
    names = list(dict.fromkeys(curves["posterior"].tolist()))
    figure = Figure(figsize=(max(2.6 * len(names), 6.5), 2.9 * len(tasks) + 0.9))
    panels = figure.subplots(len(tasks), len(names), squeeze=False, sharex="row", sharey="row")
    first = curves["seed"] == curves["seed"].min()
    for row, task in zip(panels, tasks, strict=True):
        for axes, name in zip(row, names, strict=True):
            rows = first & (curves["task"] == task) & (curves["posterior"] == name)
            _draw_panel(axes, {column: values[rows] for column, values in curves.items()})
            axes.set_ylim(*RANGE)
            axes.set_title(name if task == tasks[0] else "")
            axes.text(
                *(0.03, 0.03, _scores_text(means, task, name)),
                transform=axes.transAxes,
                fontsize=7.5,
                bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1.5},
            )
        row[0].set_ylabel(task)
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    seeds = len(np.unique(curves["seed"]))
    numbers = "one seed" if seeds == 1 else f"first seed; numbers: means over {seeds} seeds"
    title = f"What each posterior says of two tasks (± 1 sd), {numbers}"
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def _draw_panel(axes: Axes, curve: Mapping[str, NDArray[Any]]) -> None:
    x, mean = curve["x"], curve["mean"]
    epistemic, aleatoric = (
        np.sqrt(np.maximum(curve[f"{kind}_variance"], 0)) for kind in ("epistemic", "aleatoric")
    )
    axes.fill_between(x, mean - aleatoric, mean + aleatoric, color=SHADES[0], label="± aleatoric", zorder=0)
    axes.plot(x, curve["truth"], color=INK, linewidth=0.8, linestyle=":", label="truth")
    data = x[np.asarray(curve["has_data"], bool)]
    bottom = axes.get_xaxis_transform()
    axes.plot(data, np.zeros(len(data)), "|", color=INK, markersize=5, transform=bottom, label="data")
    axes.plot(x, mean, color=ALEATORIC, linewidth=1.6, label="mean")
    axes.plot(x, mean + epistemic, color=EPISTEMIC, linewidth=1, linestyle="--", label="± epistemic")
    axes.plot(x, mean - epistemic, color=EPISTEMIC, linewidth=1, linestyle="--")
    axes.set_xlim(x[0], x[-1])


def _scores_text(means: Mapping[str, NDArray[Any]], task: str, name: str) -> str:
    row = int(np.flatnonzero((means["task"] == task) & (means["posterior"] == name))[0])
    return (
        f"far / near {means['epistemic_ratio'][row]:.1f}\n"
        f"CRPS {means['crps'][row]:.3f}, pairs {means['pair_nll'][row]:.2f}"
    )
