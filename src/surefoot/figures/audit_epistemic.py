"""Epistemic part of an audit: sparsification curves, and errors by uncertainty."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from surefoot.figures.style import EPISTEMIC, INK, TOTAL, styled

COLORS = {"epistemic": EPISTEMIC, "total": TOTAL, "best order": INK}


@styled
def draw(data: Mapping[str, Any]) -> Figure:
    """Left, the errors that remain as the least sure states are left out; right, states one by one."""
    figure = Figure(figsize=(12, 3.7))
    *sparsifications, states = figure.subplots(1, len(data["curves"]) + 1)
    for axes, (error, curves) in zip(sparsifications, data["curves"].items(), strict=True):
        for name, curve in curves.items():
            left_out = np.arange(len(curve)) / len(curve)
            style = "--" if name == "best order" else "-"
            label = "best order (by the error)" if name == "best order" else f"by {name} sd"
            axes.plot(left_out, curve, style, color=COLORS[name], label=label, linewidth=1.4)
        axes.axhline(curves["best order"][0], color=INK, linewidth=0.8, linestyle=":", label="by chance")
        axes.set_xlabel("part of the states left out, least sure first")
        axes.set_ylabel("mean squared error of the rest")
        axes.set_title(f"Sparsification, {error} error")
    sparsifications[0].legend()
    states.plot(data["epistemic"], data["error"], ".", color=EPISTEMIC, markersize=4, alpha=0.5)
    states.set_xlabel("epistemic sd")
    states.set_ylabel("squared return error")
    states.set_xlim(0, None)
    states.set_title(f"States ({data['episodes']} episodes)")
    return figure
