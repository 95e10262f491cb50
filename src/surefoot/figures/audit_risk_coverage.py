"""Risk and coverage in an audit: the error in the states in which the agent acts, its surest ones."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from surefoot.figures.style import EPISTEMIC, INK, TOTAL, styled

COLORS = {"epistemic": EPISTEMIC, "total": TOTAL}


@styled
def draw(data: Mapping[str, Any]) -> Figure:
    """The mean error by the part of the states in which the agent acts."""
    figure = Figure(figsize=(7, 3.3))
    axes = figure.subplots()
    for name, curve in data["curves"].items():
        axes.plot(
            data["coverage"], curve, "o-", color=COLORS[name], markersize=3, label=f"surest by {name} sd"
        )
    axes.axhline(data["in_all"], color=INK, linewidth=0.8, linestyle=":", label="in all states")
    axes.set_xlim(0, 1.02)
    axes.set_ylim(min(0, axes.get_ylim()[0]), None)
    axes.set_xlabel("coverage: part of the states in which it acts")
    axes.set_ylabel("mean squared error of its values")
    axes.set_title(f"Acting only where it is sure ({data['episodes']} episodes)")
    axes.legend()
    return figure
