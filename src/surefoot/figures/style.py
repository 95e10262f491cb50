"""The style of all figures: colours that colour-blind readers can distinguish, and plain axes."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator
from numpy.typing import NDArray

from surefoot.statistics import mean_estimate

INK = "#222222"
ALEATORIC = "#3b8fd4"
EPISTEMIC = "#d55e00"
TOTAL = "#00845f"
BIASED = "#a6428f"
SHADES = ("#a9d3f5", "#d9ecfb")
OTHER_COLORS = ("#8c6d31", "#5c5c8a", "#c51b7d", "#4d4d4d")
"""Further colours of lines, for what has none of its own."""
PANELS_PER_ROW = 3

_RC_PARAMS: dict[Any, Any] = {
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
    # Equal data give equal files: names of SVG elements derive from this text, not from random numbers.
    "svg.hashsalt": "surefoot",
}

P = ParamSpec("P")


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Decorate a function that draws a figure: it uses the common style, not the user's own settings."""

    @wraps(draw)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(_RC_PARAMS)
            return draw(*args, **kwargs)

    return wrapped


def save(figure: Figure, path: Path) -> None:
    """Write a figure in the format of the path's suffix; equal figures give equal bytes."""
    stamp = {"Date": None} if path.suffix == ".svg" else {"Software": None}
    with mpl.rc_context(_RC_PARAMS):
        figure.savefig(path, metadata=stamp)


def mean_with_band(
    axes: Axes, x: NDArray[Any], columns: Iterable[NDArray[Any]], *, color: str, label: str
) -> None:
    """Draw the mean over seeds and its 95 % interval; `columns` has the values of the seeds at each x."""
    estimates = [mean_estimate(column) for column in columns]
    ends = [each.interval or (each.measured, each.measured) for each in estimates]
    low, high = np.array(ends).reshape(-1, 2).T
    line_with_band(axes, x, [each.measured for each in estimates], low, high, color=color, label=label)


def line_with_band(axes: Axes, x: Any, values: Any, low: Any, high: Any, *, color: str, label: str) -> None:
    """Draw a line and, in a lighter shade, the interval around it."""
    axes.plot(x, values, color=color, label=label)
    axes.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0)


def window_middles(ends: NDArray[Any]) -> NDArray[Any]:
    """The middles of windows of steps, where means over windows of any width are drawn."""
    return (np.concatenate([[0], ends[:-1]]) + ends) / 2


def show_steps(axes: Axes, last: int) -> None:
    """Label the horizontal axis as steps, such as 100k, from the first to the last."""
    axes.set(xlabel="step", xlim=(0, last))
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))


def seed_count_text(table: Mapping[str, NDArray[Any]]) -> str:
    """The number of seeds that a mean is over, for a title."""
    seeds = len(np.unique(table["seed"]))
    return f"mean of {seeds} seeds, 95 % CI" if seeds > 1 else "1 seed"


def per_seed(column: NDArray[Any], seeds: NDArray[Any]) -> NDArray[Any]:
    """A column of a table as an array with one row per seed."""
    return column.reshape(len(np.unique(seeds)), -1)
