"""Figure 2: the windy cliff, and how often each agent falls."""

from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from surefoot.figures.style import (
    ALEATORIC,
    BIASED,
    EPISTEMIC,
    INK,
    TOTAL,
    mean_with_band,
    seed_count_text,
    styled,
)

AGENT_COLORS = {
    "QR-DQN": EPISTEMIC,
    "UA-DQN risk-neutral": ALEATORIC,
    "UA-DQN variant 1": BIASED,
    "UA-DQN variant 2": TOTAL,
}
LEGEND_NAMES = {
    "UA-DQN variant 1": "UA-DQN risk-averse 1 (biased)",
    "UA-DQN variant 2": "UA-DQN risk-averse 2 (unbiased)",
}


@styled
def draw(table: Mapping[str, NDArray[Any]], preset: str) -> Figure:
    """Top: the grid with both trajectories. Bottom: cumulative falls, and seeds on the safe path."""
    figure = Figure(figsize=(11, 6.6))
    axes = figure.subplot_mosaic([["grid", "grid"], ["falls", "safe"]], height_ratios=(1, 2))
    _draw_grid(axes["grid"])
    _draw_falls(axes["falls"], table)
    axes["falls"].set_title(f"{seed_count_text(table)}, preset: {preset}")
    _draw_safe(axes["safe"], table)
    handles, labels = axes["falls"].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def _draw_grid(axes: Axes) -> None:
    kinds = {(0, 0): ("#c9dfc0", "start"), (4, 0): ("#8fc58f", "goal")}
    for column in range(5):
        for row in range(2):
            ledge = row == 0 and 0 < column < 4
            color, name = kinds.get((column, row), ("#c3cfdb" if ledge else "#f1ece0", ""))
            axes.add_patch(Rectangle((column, row), 1, 1, facecolor=color, edgecolor="white", linewidth=2))
            axes.text(column + 0.5, row + 0.12, name, ha="center", color=INK, fontsize=9)
    axes.add_patch(Rectangle((1, -0.4), 3, 0.4, facecolor="#7f8b97", edgecolor="none"))
    axes.text(2.5, -0.22, "cliff", ha="center", va="center", color="white", fontsize=9)
    for column in (1, 2, 3):
        axes.text(column + 0.5, 0.12, "wind, 5 %", ha="center", color="#4d5b68", fontsize=8)
    paths = (
        ([0.5, 4.5], [0.5, 0.5], EPISTEMIC, "risky: mean 4.86, sd 2.80", (5.1, 0.5)),
        ([0.35, 0.35, 4.65, 4.65], [0.6, 1.5, 1.5, 0.6], TOTAL, "safe: always 4", (5.1, 1.5)),
    )
    for x, y, color, label, label_position in paths:
        axes.plot(x[:-1], y[:-1], color=color, linewidth=2.5)
        axes.annotate(
            "",
            (x[-1], y[-1]),
            (x[-2], y[-2]),
            arrowprops={"arrowstyle": "-|>", "color": color, "linewidth": 2.5},
        )
        axes.text(*label_position, label, color=color, va="center")
    axes.set(xlim=(-0.05, 7.2), ylim=(-0.45, 2.05), aspect="equal")
    axes.axis("off")


def _draw_falls(axes: Axes, table: Mapping[str, NDArray[Any]]) -> None:
    for agent, color in AGENT_COLORS.items():
        step, falls = _by_seed(table, agent, table["wind_falls"] + table["step_falls"])
        mean_with_band(axes, step, falls.T, color=color, label=LEGEND_NAMES.get(agent, agent))
    axes.set(xlabel="step", ylabel="cumulative falls", xlim=(0, table["step"].max()), ylim=(0, None))


def _draw_safe(axes: Axes, table: Mapping[str, NDArray[Any]]) -> None:
    for agent, color in AGENT_COLORS.items():
        step, safe = _by_seed(table, agent, table["path"] == "safe")
        axes.plot(step, safe.mean(axis=0), color=color)
    axes.set(
        xlabel="step", ylabel="seeds on the safe path", xlim=(0, table["step"].max()), ylim=(-0.02, 1.02)
    )
    axes.set_title("Fraction whose best path avoids the ledge")


def _by_seed(
    table: Mapping[str, NDArray[Any]], agent: str, values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Steps, and an agent's values as `[seed, step]`."""
    rows = table["agent"] == agent
    first = rows & (table["seed"] == table["seed"][0])
    step = table["step"][first]
    return step, values[rows].reshape(-1, len(step))
