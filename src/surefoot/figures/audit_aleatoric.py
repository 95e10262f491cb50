"""Aleatoric part of an audit: the PIT histogram, and coverage by the size of the interval."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from surefoot.figures.style import ALEATORIC, INK, styled


@styled
def draw(data: Mapping[str, Any]) -> Figure:
    """Two panels; where the agent is right, bars reach the line and points lie on the diagonal."""
    figure = Figure(figsize=(9, 3.7))
    histogram, reliability = figure.subplots(1, 2)
    edges = data["edges"]
    middles, width = (edges[:-1] + edges[1:]) / 2, edges[1] - edges[0]
    histogram.bar(middles, data["density"], 0.92 * width, color=ALEATORIC, alpha=0.75)
    _intervals(histogram, middles, data["density_interval"])
    histogram.axhline(1, color=INK, linewidth=0.8, linestyle=":")
    histogram.set_xlabel("level of the return in the believed quantiles")
    histogram.set_ylabel("density")
    histogram.set_title("PIT histogram (flat: right)")
    parts = data["parts"]
    reliability.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=":")
    reliability.plot(parts, data["covered"], "o-", color=ALEATORIC, markersize=3.5)
    _intervals(reliability, parts, data["covered_interval"])
    reliability.set_xlim(0, 1)
    reliability.set_ylim(0, 1)
    reliability.set_xlabel("central interval")
    reliability.set_ylabel("returns inside")
    reliability.set_title(f"Coverage ({data['episodes']} episodes, 95 % CI)")
    return figure


def _intervals(axes: Any, x: Any, intervals: Any) -> None:
    low, high = np.asarray(intervals).T
    axes.vlines(x, low, high, color=INK, linewidth=1)
