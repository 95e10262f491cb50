"""What a run logged of one metric, its learning curve, and its final score."""

import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.runs.log_files import read_episodes, read_scalar, scalar_names

RETURN = "return"
"""The metric that is read from the episodes of training rather than from the scalars of the log."""
LAST = 0.1
"""The fraction of training, at its end, over which a run's score is taken."""
WINDOWS = 50
"""Windows of a learning curve."""


class Series(NamedTuple):
    """The values of a metric, and the steps at which episodes ended or entries were logged."""

    steps: NDArray[np.int64]
    values: NDArray[np.float64]


def read_series(run: Path, metric: str = RETURN) -> Series:
    """What a run logged of a metric."""
    if metric == RETURN:
        entries = [(row.step, row.episode_return) for row in read_episodes(run)]
    else:
        entries = read_scalar(run, metric)
    return Series(
        np.array([step for step, _ in entries], np.int64), np.array([value for _, value in entries], float)
    )


def metric_names(run: Path) -> list[str]:
    """The metrics that a run can be judged by."""
    return [RETURN, *scalar_names(run)]


def final_score(series: Series, steps: int, last: float = LAST) -> float:
    """Mean of the values in the last part of so many steps; NaN where there are none."""
    first = steps - round(last * steps)
    is_last = (series.steps > first) & (series.steps <= steps)
    return float(series.values[is_last].mean()) if is_last.any() else float("nan")


def fraction_needed(series: Series, steps: int) -> float:
    """The last part of so many steps that has at least one value, in hundredths; infinite without any."""
    before = series.steps[series.steps <= steps]
    return math.floor(100 * (1 - before.max() / steps) + 1) / 100 if len(before) else math.inf
