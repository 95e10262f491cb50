"""`surefoot reproduce`: an experiment of the paper, and the verdicts on its claims."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import tyro

from surefoot.cli.claims import exit_code, print_claims
from surefoot.cli.console import progress_bar, table_console
from surefoot.cli.sweep import EngineName, make_engine, require_no_failures, run_with_display
from surefoot.cli.train import import_from_working_directory
from surefoot.experiments import EXPERIMENTS, report
from surefoot.experiments.base import (
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
                with progress_bar(experiment.name) as advance:
                    outcome = experiment.run(settings, advance, Parts(directory))
            else:
                assert isinstance(experiment, DirectExperiment)
                directory = report.results_directory(experiment, out, overwrite=overwrite)
                with progress_bar(experiment.name) as advance:
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
    print_claims(console, outcome.claims, without_interval="too few seeds")
    for path in paths:
        console.print(str(path), highlight=False, soft_wrap=True, markup=False)
    return exit_code(outcome.claims, strict=strict)
