"""`surefoot reproduce`: an experiment of the paper, and the verdicts on its claims."""

import contextlib
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from surefoot.claims import Claim, Verdict
from surefoot.cli.console import table_console
from surefoot.cli.exit_codes import CLAIM_NOT_MET, OK
from surefoot.cli.sweep import EngineName, make_engine, require_no_failures, run_with_display
from surefoot.cli.train import import_from_working_directory
from surefoot.experiments import EXPERIMENTS, report
from surefoot.experiments.base import (
    Advance,
    DirectExperiment,
    Experiment,
    ExperimentConfig,
    Outcome,
    StoredExperiment,
    SweptExperiment,
    verdicts_allowed,
)
from surefoot.experiments.parts import Parts
from surefoot.sweeps.plan import PlannedRun
from surefoot.sweeps.runner import run_directory
from surefoot.types import Interval

COLORS = {Verdict.HOLDS: "green", Verdict.FAILS: "red", Verdict.UNDECIDED: "yellow"}

TABLE_WIDTH = 100
"""The width that the table of claims needs, in characters; on a narrower terminal, claims are a list."""


def commands(args: Sequence[str]) -> dict[str, tuple[Callable[..., Callable[[], int]], str]]:
    """A command for each experiment, and its title as the summary."""
    del args
    import_from_working_directory()
    return {each.name: (_command_for(each), each.title) for each in EXPERIMENTS.values()}


def _command_for(experiment: Experiment) -> Callable[..., Callable[[], int]]:
    """The command of an experiment; one that runs a sweep has further arguments."""

    def command(
        settings: Any,
        out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None,
        strict: bool = False,
        overwrite: bool = False,
    ) -> Callable[[], int]:
        """Repeat an experiment.

        Args:
            settings: The experiment's own settings.
            out: Directory for summary.json, tables and figures; by default a new one in reproductions/.
            strict: Exit with code 1 unless every claim holds.
            overwrite: Replace the results that the directory already holds.
        """

        def work() -> int:
            if isinstance(experiment, StoredExperiment):
                directory = report.resumable_directory(experiment, out, overwrite=overwrite)
                with _progress(experiment.name) as advance:
                    outcome = experiment.run(settings, advance, Parts(directory))
            else:
                assert isinstance(experiment, DirectExperiment)
                directory = report.results_directory(experiment, out, overwrite=overwrite)
                with _progress(experiment.name) as advance:
                    outcome = experiment.run(settings, advance)
            return report_outcome(experiment, settings, outcome, directory, strict=strict)

        return work

    def swept_command(
        settings: Any,
        out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None,
        strict: bool = False,
        overwrite: bool = False,
        engine: EngineName = "local",
        jobs: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None,
        address: Annotated[str | None, tyro.conf.arg(metavar="HOST:PORT")] = None,
    ) -> Callable[[], int]:
        """Repeat an experiment of many runs. The same command continues one that was stopped.

        Args:
            settings: The experiment's own settings.
            out: Directory for runs, summary.json, tables and figures; by default one in reproductions/.
            strict: Exit with code 1 unless every claim holds.
            overwrite: Replace the results of another experiment that the directory holds.
            engine: Where runs are trained: in processes of this machine (local), or on a Ray cluster (ray).
            jobs: Number of runs at once; by default one per core.
            address: Address of the Ray cluster; by default one is started on this machine.
        """

        def work() -> int:
            assert isinstance(experiment, SweptExperiment)
            directory = report.resumable_directory(experiment, out, overwrite=overwrite)
            runs: dict[str, Path] = {}

            def sweep(plan: Sequence[PlannedRun]) -> Mapping[str, Path]:
                chosen_engine = make_engine(engine, jobs, address)
                ended = run_with_display(plan, directory, chosen_engine, experiment.name)
                require_no_failures(directory, ended)
                runs.update({run.name: run_directory(directory, run) for run in plan})
                return runs

            outcome = experiment.run(settings, sweep)
            return report_outcome(experiment, settings, outcome, directory, runs.values(), strict=strict)

        return work

    chosen = swept_command if isinstance(experiment, SweptExperiment) else command
    chosen.__annotations__["settings"] = Annotated[experiment.config, tyro.conf.arg(name="")]
    return chosen


def report_outcome(
    experiment: Experiment,
    settings: ExperimentConfig,
    outcome: Outcome,
    directory: Path,
    runs: Iterable[Path] = (),
    *,
    strict: bool,
) -> int:
    """Write an experiment's outcome to disk, print its claims, and return the exit code."""
    outcome = outcome._replace(claims=verdicts_allowed(experiment, settings, outcome.claims))
    paths = report.write(experiment, settings, outcome, directory, runs)
    console = table_console()
    console.print(f"{experiment.title}\nseeds: {settings.seeds}, intervals: {experiment.intervals}")
    show = _claims_table if console.width >= TABLE_WIDTH else _claims_list
    console.print(show(outcome.claims))
    for path in paths:
        console.print(str(path), highlight=False, soft_wrap=True, markup=False)
    all_hold = all(each.verdict == Verdict.HOLDS for each in outcome.claims)
    return CLAIM_NOT_MET if strict and not all_hold else OK


@contextlib.contextmanager
def _progress(name: str) -> Generator[Advance]:
    """A progress bar on standard error, because standard output is for results."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(name, total=1)
        yield lambda part: progress.advance(task, part)


def _claims_table(claims: Sequence[Claim]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("claim")
    for name in ("measured", "interval", "holds if", "verdict"):
        table.add_column(name, no_wrap=True)
    for each in claims:
        interval = _interval_text(each.interval)
        table.add_row(each.name, f"{each.measured:.3g}", interval, each.criterion, _verdict_text(each))
    return table


def _claims_list(claims: Sequence[Claim]) -> str:
    return "\n".join(
        f"{_verdict_text(each)}: {each.name}\n"
        f"    {each.measured:.3g} ({_interval_text(each.interval)}), holds if {each.criterion}"
        for each in claims
    )


def _verdict_text(claim: Claim) -> str:
    return f"[{COLORS[claim.verdict]}]{claim.verdict}[/]"


def _interval_text(interval: Interval | None) -> str:
    if interval is None:
        return "too few seeds"
    return " to ".join(f"{end:.3g}" for end in interval)
