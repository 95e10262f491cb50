"""Figure 3: learning curves on MinAtar, a panel for each game."""

from collections.abc import Iterable
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from surefoot.figures.style import (
    ALEATORIC,
    BIASED,
    EPISTEMIC,
    INK,
    OTHER_COLORS,
    PANELS_PER_ROW,
    TOTAL,
    mean_with_band,
    per_seed,
    seed_count_text,
    show_steps,
    styled,
    window_middles,
)
from surefoot.tables import Table, rows_where

AGENT_STYLES = {
    "dqn": ("DQN", BIASED),
    "bootstrapped": ("Bootstrapped DQN", TOTAL),
    "qrdqn": ("QR-DQN", EPISTEMIC),
    "uadqn": ("UA-DQN", ALEATORIC),
}
MIN_SEEDS_FOR_BAND = 3
"""Fewest seeds whose interval is drawn: that of two, 13 standard errors to either side, hides the rest."""


@styled
def draw(table: Table, published: Table, preset: str) -> Figure:
    """Mean returns of training episodes; the one seed that was published is dashed."""
    games = list(dict.fromkeys(table["game"].tolist()))
    columns = min(PANELS_PER_ROW, len(games))
    rows = -(-len(games) // columns)
    figure = Figure(figsize=(max(4.2 * columns, 5.5), 3.2 * rows + 0.9))
    panels: list[Axes] = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes, game in zip(panels, games, strict=False):
        _draw_game(axes, rows_where(table, "game", game), rows_where(published, "game", game))
        axes.set_title(game.replace("_", " ").capitalize())
    for axes in panels[len(games) :]:
        axes.axis("off")
    shown = {
        label: each for axes in panels for each, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    if any(line.get_linestyle() == "--" for axes in panels for line in axes.lines):
        shown["published, 1 seed"] = Line2D([], [], color=INK, linewidth=0.9, linestyle="--")
    figure.legend(list(shown.values()), list(shown), loc="outside lower center", ncols=len(shown))
    title = ["Returns of training episodes", f"{_seeds_text(table)}, preset: {preset}"]
    figure.suptitle(("\n" if columns == 1 else ", ").join(title), x=0.01, ha="left")
    return figure


def _seeds_text(table: Table) -> str:
    """How many seeds there are and how they are drawn."""
    seeds = len(np.unique(table["seed"]))
    return f"mean of {seeds} seeds (thin: each)" if 1 < seeds < MIN_SEEDS_FOR_BAND else seed_count_text(table)


def _draw_game(axes: Axes, table: Table, published: Table) -> None:
    last = table["step"].max()
    for agent, (name, color) in _styles(table["agent"].tolist()).items():
        _draw_agent(axes, rows_where(table, "agent", agent), name, color)
        curve = rows_where(published, "agent", agent)
        shown = curve["step"] <= last
        if shown.sum() > 1:
            axes.plot(
                window_middles(curve["step"][shown]),
                curve["mean_return"][shown],
                color=color,
                linewidth=0.9,
                linestyle="--",
            )
    # The range follows the lines: the interval of a few seeds may be far wider in a window or two.
    highest = max((np.nanmax(np.append(line.get_ydata(), 0)) for line in axes.lines), default=0.0)
    axes.set(ylabel="return", ylim=(0, 1.15 * highest or None))
    show_steps(axes, int(last))


def _styles(agents: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Name and colour of each agent: those of the paper first, then others in colours of their own."""
    present = list(dict.fromkeys(agents))
    others = [agent for agent in present if agent not in AGENT_STYLES]
    known = {agent: style for agent, style in AGENT_STYLES.items() if agent in present}
    return known | {agent: (agent, color) for agent, color in zip(others, cycle(OTHER_COLORS), strict=False)}


def _draw_agent(axes: Axes, curves: Table, name: str, color: str) -> None:
    values = per_seed(curves["mean_return"], curves["seed"])  # [seed, window]
    middles = window_middles(np.unique(curves["step"]))[~np.isnan(values).all(axis=0)]
    values = values[:, ~np.isnan(values).all(axis=0)]
    known = [column[~np.isnan(column)] for column in values.T]
    if len(values) < MIN_SEEDS_FOR_BAND:
        axes.plot(middles, [column.mean() for column in known], color=color, label=name)
        if len(values) > 1:
            axes.plot(middles, values.T, color=color, linewidth=0.6, alpha=0.6)
    else:
        mean_with_band(axes, middles, known, color=color, label=name)
