"""Exact part of an audit: errors of the aleatoric estimators by step of training."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, BIASED, EPISTEMIC, styled

COLORS = {"unbiased": ALEATORIC, "biased": BIASED, "independent-target": EPISTEMIC}
LABELS = {
    "unbiased": "unbiased: covariance, shared targets (eq. 7)",
    "biased": "biased: variance of one set of quantiles",
    "independent-target": "covariance, each network its own targets",
}


@styled
def draw(history: Mapping[str, NDArray[Any]]) -> Figure:
    """A line for each estimator: root mean square error over the states of the greedy policy."""
    figure = Figure(figsize=(6, 3.5))
    axes = figure.subplots()
    for name, color in COLORS.items():
        column = f"audit/error_{name}"
        if column in history:
            axes.plot(history["step"], history[column], color=color, label=LABELS[name], linewidth=1.3)
    axes.set_ylim(0, None)
    axes.set_xlabel("step")
    axes.set_ylabel("error of the aleatoric sd")
    axes.set_title("Windy cliff, against exact returns")
    axes.legend()
    return figure
