"""Epistemic part of an audit: sparsification curves, and errors by uncertainty."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from surefoot.figures.style import EPISTEMIC, INK, TOTAL, styled

COLORS = {"epistemic": EPISTEMIC, "total": TOTAL, "best order": INK}


@styled
def draw(data: Mapping[str, Any]) -> Figure:
    """Left, the error that remains as the least sure states are left out; right, states one by one."""
    figure = Figure(figsize=(9, 3.7))
    sparsification, states = figure.subplots(1, 2)
    for name, curve in data["curves"].items():
        left_out = np.arange(len(curve)) / len(curve)
        style = "--" if name == "best order" else "-"
        label = "best order (by the error itself)" if name == "best order" else f"by {name} sd"
        sparsification.plot(left_out, curve, style, color=COLORS[name], label=label, linewidth=1.4)
    sparsification.axhline(data["by_chance"], color=INK, linewidth=0.8, linestyle=":", label="by chance")
    sparsification.set_xlabel("part of the states left out, least sure first")
    sparsification.set_ylabel("mean error of the rest")
    sparsification.set_ylim(0, None)
    sparsification.set_title(f"Sparsification ({data['episodes']} episodes)")
    sparsification.legend()
    states.plot(data["epistemic"], data["error"], ".", color=EPISTEMIC, markersize=4, alpha=0.5)
    states.set_xlabel("epistemic sd")
    states.set_ylabel("|believed mean - mean return|")
    states.set_xlim(0, None)
    states.set_ylim(0, None)
    states.set_title("States")
    return figure
