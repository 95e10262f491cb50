"""`surefoot sweep`: the runs of a plan. Experiments of many runs use the same functions."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro

from surefoot.cli.console import table_console
from surefoot.cli.exit_codes import OK, RUN_FAILED
from surefoot.errors import UserError
from surefoot.sweeps.engine import Engine
from surefoot.sweeps.local_engine import LocalEngine
from surefoot.sweeps.plan import PlannedRun, read_plan
from surefoot.sweeps.progress_table import SweepDisplay, count_phases, make_table, read_progress
from surefoot.sweeps.runner import LOGS, Phase, RunStatus, run_sweep
from surefoot.system.signals import exit_as_signalled, graceful_stop

SWEEPS_DIRECTORY = Path("sweeps")
"""The directory in which sweeps are by default."""

EngineName = Literal["local", "ray"]


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command."""
    del args
    return _command


def _command(
    plan: tyro.conf.Positional[Annotated[Path, tyro.conf.arg(metavar="PLAN.toml")]],
    out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None,
    engine: EngineName = "local",
    jobs: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None,
    address: Annotated[str | None, tyro.conf.arg(metavar="HOST:PORT")] = None,
) -> Callable[[], int]:
    """Train the runs of a plan. The same command continues a sweep; the plan may get more runs and steps.

    Args:
        plan: Tables [[runs]] with arguments of surefoot train, which the table [defaults] completes; lists
            stand for all combinations of their values.
        out: Directory for runs, logs and the ledger; by default one in sweeps/ with the plan's name.
        engine: Where runs are trained: in processes of this machine (local), or on a Ray cluster (ray).
        jobs: Number of runs at once; by default one per core.
        address: Address of the Ray cluster; by default one is started on this machine.
    """

    def sweep() -> int:
        sweep_dir = out or SWEEPS_DIRECTORY / plan.stem
        ended = run_with_display(read_plan(plan), sweep_dir, make_engine(engine, jobs, address), plan.stem)
        runs = [read_progress(sweep_dir, each) for each in ended]
        console = table_console()
        console.print(make_table(runs))
        console.print(f"{sweep_dir}: {count_phases(runs)}", highlight=False, soft_wrap=True, markup=False)
        return OK if all(each.phase == Phase.DONE for each in ended) else RUN_FAILED

    return sweep


def make_engine(name: EngineName, jobs: int | None, address: str | None) -> Engine:
    """The engine of this name, with this many runs at once."""
    if address is not None and name != "ray":
        raise UserError(
            f"--address: got {address} for processes of this machine, accepted: an address with --engine ray"
        )
    if name == "ray":
        from surefoot.sweeps.ray_engine import RayEngine

        return RayEngine(address, jobs)
    return LocalEngine(jobs)


def require_no_failures(sweep_dir: Path, ended: Sequence[RunStatus]) -> None:
    """Raise an error if a run failed, because no conclusions can be drawn without it."""
    failed = [each for each in ended if each.phase == Phase.FAILED]
    if failed:
        first = failed[0]
        raise UserError(
            f"{len(failed)} of {len(ended)} runs failed, {first.run.name}: {first.reason}; their output "
            f"is in {sweep_dir / LOGS}, and the same command tries them again"
        )


def run_with_display(
    plan: Sequence[PlannedRun], sweep_dir: Path, engine: Engine, title: str
) -> list[RunStatus]:
    """Run a plan and show its progress; at the first signal, the runs save before the command exits."""
    try:
        with graceful_stop() as request, SweepDisplay(sweep_dir, title) as show:
            ended = run_sweep(plan, sweep_dir, engine, show=show, stop=request)
    finally:
        engine.close()
    exit_as_signalled(request)
    return ended
