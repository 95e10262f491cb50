"""Deep sea: episodes to solve each size, a panel for agents, explorers and posteriors."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, BIASED, EPISTEMIC, INK, TOTAL, styled

COLORS = (ALEATORIC, EPISTEMIC, TOTAL, BIASED, "#8c6d31", "#5c5c8a", INK, "#7f7f7f")
MARKERS = ("o", "s", "D", "v", "P", "X", "*", "^")
UNSOLVED = 2.0
"""How far above the longest run, as a factor, the marks of unsolved sizes stand."""
JITTER = 0.05
"""Candidates stand side by side, this part of a size apart, so that none hides another."""


@styled
def draw(table: Mapping[str, NDArray[Any]], also: Mapping[str, tuple[str, str]] | None = None) -> Figure:
    """The median episode at which seeds solved each size; above the line, sizes that half of them did not.

    Sizes that a candidate was not tried on have no mark. `also` names, for a panel, a candidate of another
    one that it shows too, and its label there.
    """
    groups = list(dict.fromkeys(table["group"].tolist()))
    figure = Figure(figsize=(max(4.8 * len(groups), 6.5), 5.6))
    panels: list[Axes] = list(figure.subplots(1, len(groups), squeeze=False, sharey=True).flat)
    sizes = np.unique(table["size"])
    unsolved_height = UNSOLVED * float(np.nanmax(np.append(table["solved_episode"], table["episodes"].max())))
    for axes, group in zip(panels, groups, strict=True):
        _draw_group(axes, _of_group(table, group, (also or {}).get(group)), sizes, unsolved_height)
        axes.axhline(unsolved_height / np.sqrt(UNSOLVED), color=INK, linewidth=0.7, linestyle=":")
        axes.text(0.01, unsolved_height, "unsolved", transform=axes.get_yaxis_transform(), va="center")
        axes.set_title(group)
        axes.set_xticks(range(len(sizes)), [f"{size}" for size in sizes])
        axes.set(xlabel="size", yscale="log", xlim=(-0.6, len(sizes) - 0.5))
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), fontsize=8)
    panels[0].set_ylabel("episodes until solved")
    seeds = len(np.unique(table["seed"]))
    over = "one seed" if seeds == 1 else f"median of {seeds} seeds"
    figure.suptitle(f"Deep sea: episodes until a size is solved, {over}", x=0.01, ha="left")
    return figure


def _of_group(
    table: Mapping[str, NDArray[Any]], group: str, also: tuple[str, str] | None
) -> dict[str, NDArray[Any]]:
    """The rows of a panel's own candidates, before them those of another panel's."""
    own = {name: values[table["group"] == group] for name, values in table.items()}
    if also is None:
        return own
    candidate, label = also
    borrowed = {name: values[table["candidate"] == candidate] for name, values in table.items()}
    borrowed["label"] = np.full(len(borrowed["label"]), label)
    return {name: np.concatenate([borrowed[name], own[name]]) for name in own}


def _draw_group(
    axes: Axes, table: Mapping[str, NDArray[Any]], sizes: NDArray[Any], unsolved_height: float
) -> None:
    labels = list(dict.fromkeys(table["label"].tolist()))
    for number, (label, color, marker) in enumerate(zip(labels, cycle(COLORS), cycle(MARKERS), strict=False)):
        medians = np.array(
            [
                # A run that did not solve it counts as longer than any that did.
                np.median(np.nan_to_num(table["solved_episode"][rows], nan=np.inf)) if rows.any() else np.nan
                for rows in ((table["label"] == label) & (table["size"] == size) for size in sizes)
            ]
        )
        places = np.arange(len(sizes)) + (number - (len(labels) - 1) / 2) * JITTER
        solved = np.isfinite(medians)
        axes.plot(
            places[solved], medians[solved], marker, color=color, linestyle="-", linewidth=0.9, label=label
        )
        axes.plot(
            places[np.isinf(medians)],
            np.full(int(np.isinf(medians).sum()), unsolved_height),
            marker,
            color=color,
            markerfacecolor="none",
        )
