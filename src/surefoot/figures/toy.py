"""Figure 1: the toy regression."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import (
    ALEATORIC,
    BIASED,
    EPISTEMIC,
    INK,
    SHADES,
    TOTAL,
    mean_with_band,
    per_seed,
    seed_count_text,
    styled,
)

NOISE_VARIANCE = 1 / 9
"""The true aleatoric variance of the data."""


@styled
def draw(
    table: Mapping[str, NDArray[Any]],
    points: Mapping[str, NDArray[Any]],
    sampler: str = "two networks",
) -> Figure:
    """Left: the paper's figure, for the first seed. Right: both aleatoric estimators, for all seeds.

    `sampler` names what both uncertainties come from, for the title.
    """
    figure = Figure(figsize=(11, 4.4))
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1))
    _draw_first_seed(left, table, points)
    left.set_title(f"Both uncertainties from {sampler}, one seed (± 1 sd)")
    _draw_estimators(right, table)
    return figure


def _draw_first_seed(
    axes: Axes, table: Mapping[str, NDArray[Any]], points: Mapping[str, NDArray[Any]]
) -> None:
    first = table["seed"] == table["seed"][0]
    x, mean = table["x"][first], table["mean"][first]

    def sd(name: str) -> NDArray[Any]:
        return np.sqrt(np.maximum(table[name][first], 0))

    shown = points["seed"] == points["seed"][0]
    axes.scatter(points["x"][shown], points["y"][shown], s=9, color=INK, alpha=0.45, label="data")
    axes.plot(x, mean, color=ALEATORIC, linewidth=2, label="mean")
    reach = sd("aleatoric_variance")
    axes.fill_between(x, mean - reach, mean + reach, color=SHADES[0], label="± aleatoric", zorder=0)
    lines = (("epistemic_variance", EPISTEMIC, "--"), ("total_variance", TOTAL, "-."))
    for name, color, style in lines:
        label = f"± {name.removesuffix('_variance')}"
        axes.plot(x, mean - sd(name), color=color, linestyle=style, linewidth=1.3, label=label)
        axes.plot(x, mean + sd(name), color=color, linestyle=style, linewidth=1.3)
    axes.set(xlabel="x", ylabel="y", xlim=(x[0], x[-1]))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=5, columnspacing=1.2)


def _draw_estimators(axes: Axes, table: Mapping[str, NDArray[Any]]) -> None:
    x = per_seed(table["x"], table["seed"])[0]
    lines = (
        ("quantile_variance", BIASED, "one network's quantile variance (biased)"),
        ("aleatoric_variance", ALEATORIC, "covariance of two networks (unbiased)"),
    )
    for name, color, label in lines:
        mean_with_band(axes, x, per_seed(table[name], table["seed"]).T, color=color, label=label)
    axes.axhline(NOISE_VARIANCE, color=INK, linestyle=":", label="true noise variance, 1/9")
    axes.set(xlabel="x", ylabel="aleatoric variance", xlim=(x[0], x[-1]))
    axes.set_title(f"Aleatoric variance two ways, {seed_count_text(table)}")
    axes.legend(loc="upper right")
