"""Novelty in an audit: the epistemic uncertainty of what was visited and of what was never seen."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.style import ALEATORIC, EPISTEMIC, INK, styled


@styled
def draw(scores: Mapping[str, NDArray[Any]], episodes: int) -> Figure:
    """A row of dots for each kind of observation, with median and middle 90 %."""
    names = list(scores)
    figure = Figure(figsize=(9, 0.55 * len(names) + 1.3))
    axes = figure.subplots()
    for height, name in enumerate(names):
        values = np.asarray(scores[name])
        color = ALEATORIC if name == "visited" else EPISTEMIC
        jitter = height + 0.28 * np.sin(12.9898 * np.arange(len(values)))
        axes.plot(values, jitter, ".", color=color, markersize=3, alpha=0.35)
        low, middle, high = np.quantile(values, [0.05, 0.5, 0.95])
        axes.hlines(height, low, high, color=INK, linewidth=1.5)
        axes.plot(middle, height, "o", color=INK, markersize=5)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, None)
    axes.set_xlabel("epistemic sd of the greedy action (median and middle 90 %)")
    axes.set_title(f"Seen and never seen ({episodes} episodes)")
    return figure
