"""The audit on the windy cliff: aleatoric estimators against the exact truth, by step."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from surefoot.figures.audit_exact import COLORS, LABELS
from surefoot.figures.style import INK, TOTAL, mean_with_band, per_seed, seed_count_text, styled

EXACT_SD = 2.8026


@styled
def draw(table: Mapping[str, NDArray[Any]]) -> Figure:
    """A column for each setting: error, the ledge's standard deviation, coverage."""
    names = list(dict.fromkeys(table["candidate"].tolist()))
    figure = Figure(figsize=(3.6 * len(names) + 0.6, 8.2))
    panels = figure.subplots(3, len(names), squeeze=False, sharex=True, sharey="row")
    for column, name in zip(panels.T, names, strict=True):
        rows = table["candidate"] == name
        part = {key: values[rows] for key, values in table.items()}
        for axes, measure in zip(column, ("error", "ledge"), strict=False):
            for estimator, color in COLORS.items():
                _line(axes, part, f"{measure}_{estimator}", color, LABELS[estimator])
        _line(column[2], part, "coverage", TOTAL, "value network's quantiles")
        column[0].set_title(name)
        column[1].axhline(EXACT_SD, color=INK, linewidth=0.8, linestyle=":")
        column[2].axhspan(0.7, 0.9, color=INK, alpha=0.08, linewidth=0)
        column[2].set_xlabel("step")
    for axes, label in zip(
        panels[:, 0],
        ("error of the aleatoric sd", "sd of stepping onto the ledge", "coverage of the 80 % interval"),
        strict=True,
    ):
        axes.set_ylabel(label)
    panels[0][0].set_ylim(0, 4)
    panels[1][0].set_ylim(0, 6)
    panels[2][0].set_ylim(0, 1)
    figure.legend(*panels[0][-1].get_legend_handles_labels(), loc="outside lower center", ncols=1)
    figure.suptitle(
        f"Windy cliff, risk-neutral UA-DQN against exact returns: {seed_count_text(table)}", x=0.01, ha="left"
    )
    return figure


def _line(axes: Any, table: Mapping[str, NDArray[Any]], measure: str, color: str, label: str) -> None:
    if np.isnan(table[measure]).all():
        return
    steps = per_seed(table["step"], table["seed"])[0]
    mean_with_band(axes, steps, per_seed(table[measure], table["seed"]).T, color=color, label=label)
