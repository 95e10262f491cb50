"""What an agent believes about each action: its mean return, and how far each uncertainty reaches."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from surefoot.figures.style import ALEATORIC, EPISTEMIC, INK, SHADES, styled
from surefoot.types import Beliefs

History = Sequence[tuple[int, Beliefs]]
"""Beliefs about one observation, after so many steps each."""


@styled
def draw(
    beliefs: Mapping[str, Beliefs], actions: Sequence[str], history: History = (), followed: int = 0
) -> Figure:
    """One panel for each observation, by its name; before them, how one action came to be known.

    `actions` are the names of the actions, `followed` is the number of the one that is followed through the
    history. Wide bars are what chance does, narrow ones what was not learned, each one standard deviation to
    either side of the mean.
    """
    figure = Figure(figsize=(4.3 * (len(beliefs) + bool(history)), 4.0))
    first = 1 if history else 0
    panels: list[Axes] = list(figure.subplots(1, first + len(beliefs), squeeze=False).flat)
    if history:
        _draw_history(panels[0], history, followed)
        panels[0].set_title(f'"{actions[followed]}" while learning')
    for axes, (title, each) in zip(panels[first:], beliefs.items(), strict=True):
        _draw_actions(axes, each, actions)
        axes.set(title=title, ylabel="return")
    figure.legend(*panels[first].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


def _draw_history(axes: Axes, history: History, followed: int) -> None:
    steps = [step for step, _ in history]
    for name, color in (("aleatoric", ALEATORIC), ("epistemic", EPISTEMIC)):
        values = [getattr(each, name) for _, each in history]
        if all(each is not None for each in values):
            axes.plot(steps, [float(each[followed]) for each in values], color=color, label=name)
    axes.set(xlabel="step", ylabel="standard deviation", xlim=(0, steps[-1]), ylim=(0, None))
    axes.locator_params(axis="x", nbins=5)
    axes.legend(loc="center right")


def _draw_actions(axes: Axes, beliefs: Beliefs, actions: Sequence[str]) -> None:
    axes.use_sticky_edges = False  # Or the lowest bar would stand on the axis, as if it ended there.
    place, mean = np.arange(len(actions)), np.asarray(beliefs.mean)
    aleatoric: dict[str, Any] = {"color": SHADES[0], "edgecolor": ALEATORIC, "label": "± aleatoric: chance"}
    epistemic: dict[str, Any] = {"color": EPISTEMIC, "label": "± epistemic: not learned"}
    for deviation, width, look in (
        (beliefs.aleatoric, 0.56, aleatoric),
        (beliefs.epistemic, 0.14, epistemic),
    ):
        if deviation is not None:
            reach = np.asarray(deviation)
            axes.bar(place, 2 * reach, width, mean - reach, **look)
    axes.plot(place, mean, "_", color=INK, markersize=26, markeredgewidth=2, label="mean")
    axes.set_xticks(place, list(actions))
