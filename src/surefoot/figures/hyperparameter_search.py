"""The appendix's search for hyperparameters: the score of each candidate."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, EPISTEMIC, INK, styled


@styled
def draw(table: Mapping[str, NDArray[Any]]) -> Figure:
    """A dot for each run, a bar at the mean. Left: QR-DQN by epsilon and Adam. Right: UA-DQN by beta."""
    figure = Figure(figsize=(11, 4.4))
    left, right = figure.subplots(1, 2, width_ratios=(3, 1), sharey=True)
    qrdqn, uadqn = table["agent"] == "qrdqn", table["agent"] == "uadqn"
    names = np.array(
        [
            f"{final:g}\n{rate:g}\n{adam:.2g}"
            for final, rate, adam in zip(
                table["final_epsilon"], table["learning_rate"], table["adam_epsilon"], strict=True
            )
        ]
    )
    _strip(left, names[qrdqn], table["score"][qrdqn], EPISTEMIC)
    left.set(ylabel="score", xlabel="final epsilon; learning rate; epsilon of Adam")
    left.set_title("QR-DQN")
    betas = np.array([f"{beta:g}" for beta in table["exploration"]])
    _strip(right, betas[uadqn], table["score"][uadqn], ALEATORIC)
    highest = np.nanmax(np.append(table["score"], 0))
    right.set(xlabel="beta", ylim=(0, 1.05 * highest or None))
    right.set_title("UA-DQN")
    title = "Return at the end of training on Breakout: a dot for each seed, a bar at the mean"
    figure.suptitle(title, x=0.01, ha="left")
    return figure


def _strip(axes: Axes, names: NDArray[Any], scores: NDArray[Any], color: str) -> None:
    """Scores as dots above the name of their candidate."""
    kinds = sorted(set(names.tolist()), key=lambda name: [float(part) for part in name.split("\n")])
    for position, kind in enumerate(kinds):
        values = scores[names == kind]
        axes.plot(np.full(len(values), position), values, "o", color=color, alpha=0.6, markersize=5)
        if not np.isnan(values).all():
            axes.hlines(np.nanmean(values), position - 0.3, position + 0.3, color=INK, linewidth=1.5)
    axes.set_xticks(range(len(kinds)), kinds, fontsize=8)
