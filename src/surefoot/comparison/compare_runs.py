"""From directories of runs to a comparison."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from surefoot.comparison.contrasts import Scores, common_tasks, group_scores, pairs
from surefoot.comparison.grouping import Place, places
from surefoot.comparison.result import Comparison
from surefoot.comparison.run_scores import (
    LAST,
    RETURN,
    WINDOWS,
    Series,
    final_score,
    fraction_needed,
    metric_names,
    read_series,
)
from surefoot.comparison.selection import ACCEPTED, LeftOut, SelectedRun, select_runs
from surefoot.errors import UserError, did_you_mean, require
from surefoot.runs.provenance import revisions_of
from surefoot.statistics import (
    MIN_REPETITIONS,
    MIN_SEEDS_TO_DECIDE,
    bootstrap_estimate,
    hold_last,
    interquartile_mean_over,
    step_grid,
    window_means,
)
from surefoot.tables import Table, stack_tables


class ScoredRun(NamedTuple):
    """A run in its place, with what it logged of the metric."""

    task: str
    group: str
    run: SelectedRun
    series: Series


def compare(
    runs: str | Path | Iterable[str | Path],
    *,
    metric: str = RETURN,
    last: float = LAST,
    lower_is_better: bool = False,
    by: str | Sequence[str] = (),
    baseline: str | None = None,
) -> Comparison:
    """Compare groups of runs, which are alike within a group but for their seeds.

    Args:
        runs: Directories of runs, of sweeps, or patterns such as "runs/cartpole-*".
        metric: What runs are judged by: "return" of training episodes, or any scalar of their logs.
        last: The fraction of training, at its end, over which a run's score is taken.
        lower_is_better: Whether low values of the metric are good.
        by: What makes the groups, such as "agent" or a setting; by default all in which runs differ.
        baseline: The group that the others are compared with; by default the first.
    """
    require("last", last, 0 < last <= 1, "numbers above 0, to 1")
    left_out = LeftOut()
    given = [runs] if isinstance(runs, str | Path) else list(runs)
    selected = _with_series(select_runs(given, left_out), metric, left_out)
    found = _placed(selected, [by] if isinstance(by, str) else by, left_out)
    groups = tuple(dict.fromkeys(each.group for each in found))
    tasks = {task: _common_steps(found, task) for task in dict.fromkeys(each.task for each in found)}
    if baseline is None:
        baseline = groups[0]
    require("baseline", baseline, baseline in groups, ", ".join(groups) + did_you_mean(baseline, groups))
    _require_scores(found, tasks, last)
    scored = [final_score(each.series, tasks[each.task], last) for each in found]
    scores = _scores(found, scored)
    curves = [
        _curve(task, group, [each.series for each in found if each[:2] == (task, group)], tasks[task])
        for task, by_group in scores.items()
        for group in by_group
    ]
    return Comparison(
        metric=metric,
        last=last,
        lower_is_better=lower_is_better,
        baseline=baseline,
        groups=groups,
        tasks=tasks,
        scores=group_scores(scores, lower_is_better=lower_is_better),
        pairs=pairs(scores, baseline, lower_is_better=lower_is_better),
        runs=_runs_table(found, scored),
        curves=stack_tables(curves),
        notes=[*left_out.notes(), *_notes(found, tasks, scores)],
    )


def _with_series(
    selected: Sequence[SelectedRun], metric: str, left_out: LeftOut
) -> list[tuple[SelectedRun, Series]]:
    """The runs that logged the metric, with what they logged."""
    found: list[tuple[SelectedRun, Series]] = []
    for run in selected:
        try:
            series = read_series(run.path, metric)
        except (OSError, ValueError, TypeError):
            left_out.add("damaged log", run.path)
            continue
        if len(series.steps):
            found.append((run, series))
        else:
            left_out.add("no episode ended" if metric == RETURN else f"no {metric} in the log", run.path)
    if not found:
        known = sorted({name for run in selected for name in metric_names(run.path)})
        if metric not in known:
            raise UserError(
                f"metric: got {metric}, accepted: {', '.join(known)}{did_you_mean(metric, known)}"
            )
        raise UserError(f"runs: nothing to compare ({'; '.join(left_out.notes())}), accepted: {ACCEPTED}")
    return found


def _placed(
    selected: Sequence[tuple[SelectedRun, Series]], by: Sequence[str], left_out: LeftOut
) -> list[ScoredRun]:
    """The runs in their places; of copies, which equal settings and seeds make, the longest alone."""
    at = places([run for run, _ in selected], by)
    longest: dict[Place, SelectedRun] = {}
    for (run, _), place in zip(selected, at, strict=True):
        if place not in longest or run.steps > longest[place].steps:
            longest[place] = run
    found: list[ScoredRun] = []
    for (run, series), place in zip(selected, at, strict=True):
        if run is longest[place]:
            found.append(ScoredRun(place.task, place.group, run, series))
        else:
            left_out.add("copies of other runs", f"{run.path} (of {longest[place].path})")
    return found


def _common_steps(found: Sequence[ScoredRun], task: str) -> int:
    """The largest step that all runs on a task have made."""
    return min(each.run.steps for each in found if each.task == task)


def _require_scores(found: Sequence[ScoredRun], tasks: Mapping[str, int], last: float) -> None:
    """Refuse a last part in which some run has no value.

    To leave the run out would favour what ends soon: where episodes are long because the agent plays well,
    few of them end.
    """
    without = [each for each in found if np.isnan(final_score(each.series, tasks[each.task], last))]
    if not without:
        return
    needed = [fraction_needed(each.series, tasks[each.task]) for each in without]
    worst = without[int(np.argmax(needed))]
    path, steps, others = worst.run.path, tasks[worst.task], len(without) - 1
    if math.isinf(max(needed)):
        raise UserError(
            f"runs: {path} has no value up to step {steps:,}, where {worst.task} is compared, "
            "accepted: runs or a metric that have one"
        )
    which = f"{path} and {others} more have" if others else f"{path} has"
    raise UserError(
        f"last: got {last:g}, where {which} no value, accepted: numbers from {max(needed):g} to 1"
    )


def _scores(found: Sequence[ScoredRun], scored: Sequence[float]) -> Scores:
    """The scores of runs by task and group, groups in the order in which they were found first."""
    by_place: dict[tuple[str, str], list[float]] = {}
    for each, score in zip(found, scored, strict=True):
        by_place.setdefault((each.task, each.group), []).append(score)
    groups = dict.fromkeys(each.group for each in found)
    return {
        task: {group: np.array(by_place[task, group]) for group in groups if (task, group) in by_place}
        for task in dict.fromkeys(each.task for each in found)
    }


def _curve(task: str, group: str, all_series: Sequence[Series], steps: int) -> Table:
    """The interquartile mean over seeds in each window of steps, with its interval; NaN without any value.

    A run without a value in a window in which others have one has that of the window before.
    """
    grid = step_grid(steps, WINDOWS)
    by_seed = np.stack([window_means(*series, grid) for series in all_series])  # [seed, window]
    held = np.stack([hold_last(values) for values in by_seed])
    held[:, np.isnan(by_seed).all(axis=0)] = np.nan
    estimates = [bootstrap_estimate(interquartile_mean_over, [values]) for values in held.T]
    ends = np.array([each.interval or (np.nan, np.nan) for each in estimates])
    return {
        "task": np.full(len(grid), task),
        "group": np.full(len(grid), group),
        "seeds": np.full(len(grid), len(all_series)),
        "step": grid,
        "iqm": np.array([each.measured for each in estimates]),
        "iqm_low": ends[:, 0],
        "iqm_high": ends[:, 1],
    }


def _runs_table(found: Sequence[ScoredRun], scored: Sequence[float]) -> Table:
    return {
        "task": np.array([each.task for each in found]),
        "group": np.array([each.group for each in found]),
        "seed": np.array([each.run.config["seed"] for each in found]),
        "score": np.array(scored),
        "run": np.array([str(each.run.path) for each in found]),
    }


def _notes(found: Sequence[ScoredRun], tasks: Mapping[str, int], scores: Scores) -> list[str]:
    """What a reader must know beside the numbers, a line each."""
    notes: list[str] = []
    for task, steps in tasks.items():
        longest = max(each.run.steps for each in found if each.task == task)
        if longest > steps:
            notes.append(
                f"{task}: compared at step {steps:,}, which all runs have made; some have {longest:,}"
            )
    common = common_tasks(scores)
    if len(common) < len(tasks):
        which = ", ".join(common) if len(common) > 1 else "none"
        notes.append(f"tasks on which every group has runs, for scores over all tasks: {which}")
    revisions = revisions_of(each.run.config for each in found)
    if len(revisions) > 1:
        notes.append(f"runs began with different revisions: {', '.join(revisions)}")
    fewest = min(len(each) for by_group in scores.values() for each in by_group.values())
    if fewest < MIN_REPETITIONS:
        notes.append(f"fewer than {MIN_REPETITIONS} seeds in a group: no intervals")
    if fewest < MIN_SEEDS_TO_DECIDE:
        notes.append(
            f"fewer than {MIN_SEEDS_TO_DECIDE} seeds in a group: intervals are too narrow, nothing is decided"
        )
    return notes
