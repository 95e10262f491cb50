"""The cliff with a part that training never saw, and what handing over changes there."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, EPISTEMIC, INK, seed_count_text, styled
from surefoot.statistics import mean_estimate

DEPLOYMENTS = {"far": "every episode starts far", "mixed": "one episode in twenty starts far"}
AGENT_COLORS = {"risk-neutral": ALEATORIC, "risk-averse": EPISTEMIC}
STYLES = {"epistemic": ("-", "o", ""), "random": (":", "s", ", at random moments")}
QUANTITIES = {"fell": "episodes with a fall", "return": "mean return"}
LABELLED = (0.0, 0.1, 0.5)
"""Budgets that are written beside their points."""


@styled
def draw(table: Mapping[str, NDArray[Any]], preset: str) -> Figure:
    """Top: the grid. Below: falls and returns against the realised share of steps handed over."""
    figure = Figure(figsize=(10, 9.2))
    layout: Any = [[f"{quantity} {deployment}" for deployment in DEPLOYMENTS] for quantity in QUANTITIES]
    axes = figure.subplot_mosaic([["grid", "grid"], *layout], height_ratios=(0.9, 2, 2))
    _draw_grid(axes["grid"])
    for quantity, words in QUANTITIES.items():
        for deployment, title in DEPLOYMENTS.items():
            panel = axes[f"{quantity} {deployment}"]
            _draw_panel(panel, table, quantity, deployment)
            panel.set(xlabel="share of steps handed over", ylabel=words)
            panel.margins(x=0.06, y=0.1)
            if quantity == "fell":
                panel.set_title(title.capitalize())
    figure.legend(
        *axes["fell mixed"].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=4,
        columnspacing=1.2,
    )
    figure.suptitle(
        f"Handing over to the safe path; numbers are budgets; {seed_count_text(table)}, preset: {preset}",
        x=0.01,
        ha="left",
    )
    return figure


def _draw_grid(axes: Axes) -> None:
    for column in range(9):
        for row in range(2):
            ledge = row == 0 and column not in {0, 4, 8}
            color = ("#8296ab" if column < 4 else "#c3cfdb") if ledge else "#f1ece0"
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=color, edgecolor="white", linewidth=2))
    for column, text in ((0, "far\nstart"), (4, "start"), (8, "goal")):
        axes.add_patch(
            Rectangle((column, 0), 1, 1, facecolor="#8fc58f" if column == 8 else "#c9dfc0", edgecolor="white")
        )
        axes.text(column + 0.5, 0.5, text, ha="center", va="center", fontsize=9, color=INK)
    axes.plot([4, 4], [0, 2], color=INK, linewidth=2, linestyle=(0, (2, 1)))
    axes.annotate("", (4.35, 1.5), (3.65, 1.5), arrowprops={"arrowstyle": "-|>", "color": INK})
    axes.text(2, 2.15, "never seen in training: wind 30 %", ha="center", fontsize=9, color=INK)
    axes.text(6.5, 2.15, "where it learns: wind 5 %", ha="center", fontsize=9, color=INK)
    for column in (1, 5):
        axes.add_patch(Rectangle((column, -0.35), 3, 0.35, facecolor="#7f8b97", edgecolor="none"))
        axes.text(column + 1.5, -0.2, "cliff", ha="center", va="center", color="white", fontsize=9)
    axes.set(xlim=(-0.05, 9.05), ylim=(-0.4, 2.5), aspect="equal")
    axes.axis("off")


def _draw_panel(axes: Axes, table: Mapping[str, NDArray[Any]], quantity: str, deployment: str) -> None:
    for agent, color in AGENT_COLORS.items():
        for moments, (line, marker, words) in STYLES.items():
            rows = (
                (table["agent"] == agent)
                & (table["moments"] == moments)
                & (table["deployment"] == deployment)
            )
            budgets = np.unique(table["budget"][rows])
            if not len(budgets):
                continue
            at_budget = [rows & (table["budget"] == budget) for budget in budgets]
            rates = [float(table["rate"][each].mean()) for each in at_budget]
            estimates = [mean_estimate(table[quantity][each]) for each in at_budget]
            ends = np.array([each.interval or (each.measured, each.measured) for each in estimates])
            means = np.array([each.measured for each in estimates])
            axes.plot(rates, means, line, color=color, linewidth=1.2)
            axes.errorbar(
                rates,
                means,
                np.abs(ends.T - means),
                color=color,
                fmt=marker,
                markerfacecolor=color if moments == "epistemic" else "white",
                markersize=5,
                elinewidth=1,
                capsize=2,
                label=f"{agent}{words}",
            )
            if moments == "epistemic":
                for rate, mean, budget in zip(rates, means, budgets, strict=True):
                    if budget in LABELLED:
                        axes.annotate(
                            f"{budget:g}",
                            (rate, mean),
                            (5, 6) if agent == "risk-neutral" else (5, -13),
                            textcoords="offset points",
                            fontsize=8,
                            color=color,
                        )
