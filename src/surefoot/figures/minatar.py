"""Figure 3: learning curves on MinAtar, a panel a game."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator
from numpy.typing import NDArray

from surefoot.figures.style import (
    ALEATORIC,
    BIASED,
    EPISTEMIC,
    INK,
    TOTAL,
    count_of_seeds,
    line_with_band,
    per_seed,
    styled,
)
from surefoot.statistics import mean_estimate

AGENTS = {
    "dqn": ("DQN", BIASED),
    "bootstrapped": ("Bootstrapped DQN", TOTAL),
    "qrdqn": ("QR-DQN", EPISTEMIC),
    "uadqn": ("UA-DQN", ALEATORIC),
}
PANELS_A_ROW = 3
FEWEST_FOR_A_BAND = 3
"""Seeds. The interval of two is 13 standard errors wide on either side: one would see nothing else."""


@styled
def draw(table: Mapping[str, NDArray[Any]], published: Mapping[str, NDArray[Any]], preset: str) -> Figure:
    """Mean returns of training episodes; dashed, where it exists, the one seed that was published."""
    games = list(dict.fromkeys(table["game"].tolist()))
    columns = min(PANELS_A_ROW, len(games))
    rows = -(-len(games) // columns)
    figure = Figure(figsize=(max(4.2 * columns, 5.5), 3.2 * rows + 0.9))
    panels: list[Axes] = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, game in zip(panels, games, strict=False):
        _draw_game(axes, _part(table, "game", game), _part(published, "game", game))
        axes.set_title(game.replace("_", " ").capitalize())
    for axes in panels[len(games) :]:
        axes.axis("off")
    shown = {
        label: each for axes in panels for each, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if any(line.get_linestyle() == "--" for axes in panels for line in axes.lines):
        shown["published, 1 seed"] = Line2D([], [], color=INK, linewidth=0.9, linestyle="--")
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=len(shown))
    title = ["Returns of training episodes", f"{_seeds(table)}, preset: {preset}"]
    figure.suptitle(("\n" if columns == 1 else ", ").join(title), x=0.01, ha="left")
    return figure


def _seeds(table: Mapping[str, NDArray[Any]]) -> str:
    seeds = len(np.unique(table["seed"]))
    return f"mean of {seeds} seeds (thin: each)" if 1 < seeds < FEWEST_FOR_A_BAND else count_of_seeds(table)


def _draw_game(axes: Axes, table: Mapping[str, NDArray[Any]], published: Mapping[str, NDArray[Any]]) -> None:
    last = table["step"].max()
    for agent, (name, color) in AGENTS.items():
        curves = _part(table, "agent", agent)
        if len(curves["step"]):
            _draw_agent(axes, curves, name, color)
            theirs = _part(published, "agent", agent)
            inside = theirs["step"] <= last
            if inside.sum() > 1:
                axes.plot(
                    _middles(theirs["step"][inside]),
                    theirs["mean_return"][inside],
                    color=color,
                    linewidth=0.9,
                    linestyle="--",
                )
    # By the lines: the interval of a few seeds may reach far beyond them in a window or two.
    highest = max((np.nanmax(np.append(line.get_ydata(), 0)) for line in axes.lines), default=0.0)
    axes.set(xlabel="step", ylabel="return", xlim=(0, last), ylim=(0, 1.15 * highest or None))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def _draw_agent(axes: Axes, curves: Mapping[str, NDArray[Any]], name: str, color: str) -> None:
    step = np.unique(curves["step"])
    values = per_seed(curves["mean_return"], curves["seed"])  # [seed, window]
    known = [column[~np.isnan(column)] for column in values.T]
    seen = np.array([len(each) > 0 for each in known])
    estimates = [mean_estimate(each) for each in known if len(each)]
    mean = np.array([each.measured for each in estimates])
    middles = _middles(step)[seen]
    if len(values) < FEWEST_FOR_A_BAND:
        axes.plot(middles, mean, color=color, label=name)
        if len(values) > 1:
            axes.plot(middles, values.T[seen], color=color, linewidth=0.6, alpha=0.6)
    else:
        ends = np.array([each.interval or (each.measured, each.measured) for each in estimates])
        low, high = ends.reshape(-1, 2).T
        line_with_band(axes, middles, mean, low, high, color=color, label=name)


def _middles(ends: NDArray[Any]) -> NDArray[Any]:
    """Of windows of steps, where a mean over each belongs: theirs are wider than ours."""
    return (np.concatenate([[0], ends[:-1]]) + ends) / 2


def _part(table: Mapping[str, NDArray[Any]], column: str, value: str) -> dict[str, NDArray[Any]]:
    rows = table[column] == value
    return {name: values[rows] for name, values in table.items()}
