"""`surefoot compare`: groups of runs, their scores with intervals, and which of them are better."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from surefoot.cli.console import table_console
from surefoot.cli.exit_codes import OK
from surefoot.cli.train import import_from_working_directory
from surefoot.comparison.compare_runs import compare
from surefoot.comparison.contrasts import Verdict
from surefoot.comparison.result import FILES, Comparison
from surefoot.comparison.run_scores import LAST, RETURN
from surefoot.statistics import Estimate

COMPARISONS_DIRECTORY = Path("comparisons")
"""The directory of comparisons for which no other is given."""
COLORS = {Verdict.BETTER: "green", Verdict.WORSE: "red", Verdict.UNDECIDED: "yellow"}


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command."""
    del args
    return _command


def _command(
    runs: Annotated[
        list[str],
        tyro.conf.Positional,
        tyro.conf.arg(metavar="RUN [RUN ...]", help_behavior_hint="(required)"),
    ],
    metric: str = RETURN,
    last: Annotated[float, tyro.conf.arg(metavar="FRACTION")] = LAST,
    lower_is_better: bool = False,
    by: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="NAME")] = (),
    baseline: Annotated[str | None, tyro.conf.arg(metavar="LABEL")] = None,
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None,
    overwrite: bool = False,
) -> Callable[[], int]:
    """Compare runs: those that differ in their seeds alone are a group, environments are tasks.

    Args:
        runs: Directories of runs, of sweeps, or patterns.
        metric: What runs are judged by: the return of training episodes, or any logged scalar.
        last: The fraction of training, at its end, over which a run's score is taken.
        lower_is_better: Low values of the metric are good.
        by: What makes the groups instead: agent, preset, or any setting. May be given more than once.
        baseline: The group that the others are compared with; by default the first.
        out: Directory for tables, figure and summary; by default a new one in comparisons/.
        overwrite: Replace the comparison that the directory already holds.
    """

    def work() -> int:
        import_from_working_directory()
        found = compare(
            runs, metric=metric, last=last, lower_is_better=lower_is_better, by=by, baseline=baseline
        )
        name = metric.replace("/", "-")
        directory = FILES.directory(out, COMPARISONS_DIRECTORY, name, overwrite=overwrite)
        paths = found.write(directory)
        console = table_console()
        console.print(f"{found.score_text}\nintervals: 95 %, stratified bootstrap over seeds", markup=False)
        console.print(_scores_table(found))
        if found.pairs:
            console.print(_pairs_table(found))
        for line in [*found.notes, *paths]:
            console.print(str(line), highlight=False, soft_wrap=True, markup=False)
        return OK

    return work


def _scores_table(found: Comparison) -> Table:
    table = _table("task at step", "group", "seeds", "mean", "interquartile mean")
    for first, each in _first_of_task(found.scores):
        steps = f" at {found.tasks[each.task]:,}" if each.task in found.tasks else ""
        numbers = str(each.seeds), _text(each.mean), _text(each.iqm)
        table.add_row(escape(each.task) + steps if first else "", escape(each.group), *numbers)
    return table


def _pairs_table(found: Comparison) -> Table:
    against = f"against {escape(found.baseline)}"
    table = _table("task", against, "difference", "probability of improvement", "")
    for first, each in _first_of_task(found.pairs):
        verdict = f"[{COLORS[each.verdict]}]{each.verdict}[/]"
        numbers = _text(each.difference), _text(each.probability)
        table.add_row(escape(each.task) if first else "", escape(each.group), *numbers, verdict)
    return table


def _first_of_task(rows: Sequence[Any]) -> list[tuple[bool, Any]]:
    """Each row, and whether it is the first of its task."""
    tasks = [row.task for row in rows]
    return [(row.task not in tasks[:number], row) for number, row in enumerate(rows)]


def _table(task: str, group: str, *numbers: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in (task, group):
        table.add_column(name, overflow="fold")
    for name in numbers:
        table.add_column(name, no_wrap=True)
    return table


def _text(estimate: Estimate) -> str:
    if estimate.interval is None:
        return f"{estimate.measured:.4g}"
    return f"{estimate.measured:.4g} ({' to '.join(f'{end:.4g}' for end in estimate.interval)})"
