"""`surefoot runs`: a table of the runs on disk."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.box import SIMPLE_HEAD
from rich.table import Table

from surefoot.cli.console import table_console
from surefoot.cli.exit_codes import OK
from surefoot.cli.train import RUNS_DIRECTORY
from surefoot.errors import UserError
from surefoot.runs.directory import Summary, summaries


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command."""
    del args
    return _command


def _command(
    home: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DIR")] = RUNS_DIRECTORY,
) -> Callable[[], int]:
    """List the runs in a directory and its subdirectories.

    Args:
        home: The directory; by default runs/.
    """

    def list_runs() -> int:
        if not home.is_dir():
            raise UserError(f"DIR: got {home}, accepted: a directory with runs (surefoot train makes them)")
        found = list(summaries(home))
        console = table_console(160)
        console.print(_table(found) if found else f"{home}: no runs", markup=False)
        return OK

    return list_runs


def _table(found: list[Summary]) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in ("run", "environment", "agent"):
        table.add_column(name, overflow="fold")
    for name in ("seed", "steps", "planned", "return", "best evaluation"):
        table.add_column(name, justify="right")
    for each in found:
        numbers = (f"{each.seed}", f"{each.step:,}", f"{each.steps:,}")
        returns = ("" if value is None else f"{value:.4g}" for value in (each.episode_return, each.best))
        table.add_row(str(each.directory), each.environment, each.agent, *numbers, *returns)
    return table
