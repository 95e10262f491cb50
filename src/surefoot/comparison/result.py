"""What a comparison found: plain values, tables, a figure, and files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from surefoot import statistics
from surefoot.comparison.contrasts import ALL_TASKS, GroupScore, Pair
from surefoot.comparison.run_scores import RETURN
from surefoot.figures import comparison as figure
from surefoot.results import ResultFiles
from surefoot.runs.provenance import provenance
from surefoot.statistics import Estimate
from surefoot.tables import Table

FILES = ResultFiles("comparison", ("scores", "pairs", "runs", "curves"))


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Groups of runs, compared by their final scores."""

    metric: str
    last: float
    """The fraction of training, at its end, over which a run's score is taken."""
    lower_is_better: bool
    baseline: str
    """The group that the others are compared with."""
    groups: tuple[str, ...]
    tasks: Mapping[str, int]
    """The step at which runs are compared, by task."""
    scores: Sequence[GroupScore]
    pairs: Sequence[Pair]
    runs: Table
    """A row for each run, with its score."""
    curves: Table
    """Interquartile means over seeds, with their intervals, in windows of steps."""
    notes: Sequence[str]
    """What was left out or cut short, a line each."""

    @property
    def score_text(self) -> str:
        """How a run's score is measured, in words."""
        what = "return of training episodes" if self.metric == RETURN else self.metric
        direction = "lower" if self.lower_is_better else "higher"
        return f"{what}, mean over the last {100 * self.last:g} % of steps ({direction} is better)"

    def draw(self) -> Figure:
        """Learning curves, a panel for each task, and final scores."""
        scores = self.tables()["scores"]
        return figure.draw(self.curves, self.runs, scores, metric=self.metric, all_tasks=ALL_TASKS)

    def tables(self) -> dict[str, Table]:
        """Scores, pairs, runs and curves as columns."""
        return {
            "scores": _columns(self.scores),
            "pairs": _columns(self.pairs),
            "runs": self.runs,
            "curves": self.curves,
        }

    def as_json(self) -> dict[str, Any]:
        """The settings, the scores and the pairs as plain data; a number that is not finite becomes null."""
        plain = {name: value for name, value in vars(self).items() if name not in {"runs", "curves"}}
        plain |= {name: [_plain(each) for each in getattr(self, name)] for name in ("scores", "pairs")}
        plain |= {"confidence": 0.95, "resamples": statistics.RESAMPLES}
        return {**plain, "runs": self.runs["run"].tolist()}

    def write(self, directory: Path) -> list[Path]:
        """Write tables as CSV, the figure as PNG and SVG, and a summary as JSON; returns their paths."""
        return FILES.write(directory, self.tables(), self.draw(), {**self.as_json(), **provenance()})


def _columns(rows: Sequence[Any]) -> Table:
    """A table of rows, in which an estimate is three columns: the value and the ends of its interval."""
    flat = [_flat(row) for row in rows]
    return {name: np.array([row[name] for row in flat]) for name in (flat[0] if flat else ())}


def _flat(row: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in row._asdict().items():
        if isinstance(value, Estimate):
            low, high = value.interval or (math.nan, math.nan)
            found |= {name: value.measured, f"{name}_low": low, f"{name}_high": high}
        else:
            found[name] = value
    return found


def _plain(row: Any) -> dict[str, Any]:
    return {
        name: value.as_json() if isinstance(value, Estimate) else value
        for name, value in row._asdict().items()
    }
