"""One look for every figure: colours that stay apart for colour-blind readers, and quiet axes."""

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

INK = "#222222"
ALEATORIC = "#3b8fd4"
EPISTEMIC = "#d55e00"
TOTAL = "#00845f"
BIASED = "#a6428f"
SHADES = ("#a9d3f5", "#d9ecfb")

_LOOK: dict[Any, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.labelsize": 10,
    "font.size": 10,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 150,
    # Equal data give equal files: SVG element names come from here, not from chance.
    "svg.hashsalt": "surefoot",
}

P = ParamSpec("P")


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Give the figure that a function draws the common look, whatever the user's own settings."""

    @wraps(draw)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(_LOOK)
            return draw(*args, **kwargs)

    return wrapped


def save(figure: Figure, path: Path) -> None:
    """Write the figure in the format that the path's ending names, the same bytes each time."""
    stamp = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    with mpl.rc_context(_LOOK):
        figure.savefig(path, metadata=stamp)


def line_with_band(
    axes: Axes,
    x: Any,
    line: NDArray[Any],
    low: Any,
    high: Any,
    *,
    color: str,
    label: str,
    **look: Any,
) -> None:
    """A line and the interval around it in the same colour."""
    axes.plot(x, line, color=color, label=label, **look)
    axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


def count_of_seeds(table: Mapping[str, NDArray[Any]]) -> str:
    """How many seeds a mean is over, for a title."""
    seeds = len(np.unique(table["seed"]))
    return f"mean of {seeds} seeds, 95 % CI" if seeds > 1 else "1 seed"


def per_seed(column: NDArray[Any], seeds: NDArray[Any]) -> NDArray[Any]:
    """A column of a table, one row per seed."""
    return column.reshape(len(np.unique(seeds)), -1)
