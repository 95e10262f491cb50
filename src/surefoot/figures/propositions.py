"""Propositions: mean and variance of the estimators, by quantiles, draws and correlation."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, BIASED, EPISTEMIC, INK, styled

PANELS = {
    "quantiles": "N, number of quantiles",
    "draws": "K, number of networks (N = 50)",
    "correlation": "correlation of outputs (N = 50)",
}
ESTIMATORS = {
    "epistemic": (EPISTEMIC, "epistemic estimator"),
    "aleatoric": (ALEATORIC, "aleatoric estimator"),
    "one network": (BIASED, "variance of one network's quantiles"),
}


@styled
def draw(table: Mapping[str, NDArray[Any]], curves: Mapping[str, NDArray[Any]], repetitions: int) -> Figure:
    """Top: mean and one standard deviation of each estimator. Bottom: its variance. Dotted: closed forms."""
    figure = Figure(figsize=(11, 6.2))
    axes = figure.subplots(2, len(PANELS), sharex="col")
    for column, (varied, label) in enumerate(PANELS.items()):
        top, bottom = axes[0, column], axes[1, column]
        for estimator, (color, name) in ESTIMATORS.items():
            found, truth = _rows(table, varied, estimator), _rows(curves, varied, estimator)
            x, mean, sd = found["value"], found["mean"], np.sqrt(found["variance"])
            top.fill_between(x, mean - sd, mean + sd, color=color, alpha=0.15, linewidth=0)
            top.plot(x, mean, color=color, marker="o", markersize=4, label=name)
            top.plot(truth["value"], truth["truth"], color=INK, linestyle=":", zorder=3)
            if estimator != "one network":
                bottom.plot(x, found["variance"], color=color, marker="o", markersize=4, linewidth=0)
            bottom.plot(truth["value"], truth["variance_truth"], color=INK, linestyle=":")
        bottom.set(yscale="log", ylim=(1e-4, 10), xlabel=label)
        if varied != "correlation":
            bottom.set_xscale("log", base=2)
            ticks = np.unique(table["value"][table["varied"] == varied]).astype(int)
            bottom.set_xticks(ticks, [str(tick) for tick in ticks])
            bottom.minorticks_off()
    axes[0, 1].sharey(axes[0, 0])
    axes[0, 0].set_ylabel("estimate, mean ± 1 sd")
    axes[1, 0].set_ylabel("variance of the estimate")
    axes[0, 0].set_title(f"More quantiles ({repetitions:,} simulations each)")
    axes[0, 1].set_title("More networks")
    axes[0, 2].set_title("Correlated outputs")
    axes[0, 0].plot([], [], color=INK, linestyle=":", label="closed form")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _rows(table: Mapping[str, NDArray[Any]], varied: str, estimator: str) -> dict[str, NDArray[Any]]:
    rows = (table["varied"] == varied) & (table["estimator"] == estimator)
    return {name: values[rows] for name, values in table.items()}
