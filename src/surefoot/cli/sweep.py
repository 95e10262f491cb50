"""`surefoot sweep`."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.console import Console

from surefoot.cli.exit_codes import OK, RUN_FAILED
from surefoot.system.signals import exit_as_signalled, graceful_stop
from surefoot.sweeps import plan as plans
from surefoot.sweeps.engine import Engine
from surefoot.sweeps.local_engine import LocalEngine
from surefoot.sweeps.plan import PlannedRun
from surefoot.sweeps.runner import LOGS, Phase, Status, run_sweep
from surefoot.sweeps.progress_table import Display, counts_of, glance_at, table_of
from surefoot.errors import UserError

HOME = Path("sweeps")

EngineName = Literal["local", "ray"]


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command."""
    del args

    def command(
        plan: tyro.conf.Positional[Annotated[Path, tyro.conf.arg(metavar="PLAN.toml")]],
        out: Annotated[Path | None, tyro.conf.arg(metavar="DIR")] = None,
        engine: EngineName = "local",
        jobs: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None,
        address: Annotated[str | None, tyro.conf.arg(metavar="HOST:PORT")] = None,
    ) -> Callable[[], int]:
        """Carry out a plan. The same command goes on where it stopped, with new runs and more steps, too.

        Args:
            plan: The runs: [[runs]] tables of settings of surefoot train, lists crossed, beside [defaults].
            out: Directory for runs, logs and the ledger; by default one in sweeps/ with the plan's name.
            engine: Processes of this machine, or a Ray cluster.
            jobs: Runs at once; by default one per core.
            address: Of the Ray cluster; by default one is started here.
        """

        def sweep() -> int:
            home = out or HOME / plan.stem
            ended = run_plan(plans.read(plan), home, engine_of(engine, jobs, address), plan.stem)
            glances = [glance_at(home, each) for each in ended]
            # A file has no width of its own; rich would take it for a narrow terminal.
            console = Console(width=None if sys.stdout.isatty() else 120)
            console.print(table_of(glances))
            console.print(f"{home}: {counts_of(glances)}", highlight=False, soft_wrap=True, markup=False)
            return OK if all(each.phase == Phase.DONE for each in ended) else RUN_FAILED

        return sweep

    return command


def engine_of(name: EngineName, jobs: int | None, address: str | None) -> Engine:
    """Who carries out runs."""
    if address is not None and name != "ray":
        raise UserError(f"--address: got {address} without a cluster to find there, accepted: --engine ray")
    if name == "ray":
        from surefoot.sweeps.ray_engine import RayEngine

        return RayEngine(address, jobs)
    return LocalEngine(jobs)


def require_done(home: Path, ended: Sequence[Status]) -> None:
    """Refuse to go on from runs that failed."""
    failed = [each for each in ended if each.phase == Phase.FAILED]
    if failed:
        first = failed[0]
        raise UserError(
            f"{len(failed)} of {len(ended)} runs failed, {first.run.name}: {first.why}; their words are in "
            f"{home / LOGS}, and the same command tries them again"
        )


def run_plan(plan: Sequence[PlannedRun], home: Path, engine: Engine, title: str) -> list[Status]:
    """Carry out a plan under the eyes of the user; a signal lets the runs save before it ends all."""
    try:
        with graceful_stop() as request, Display(home, title) as show:
            ended = run_sweep(plan, home, engine, show=show, stop=request)
    finally:
        engine.close()
    exit_as_signalled(request)
    return ended
