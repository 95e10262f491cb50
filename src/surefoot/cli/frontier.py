"""`surefoot evaluate RUN --frontier`: one attitude to risk from neutral to averse, on one trained agent."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from surefoot.errors import UserError
from surefoot.experiments.report import write_csv
from surefoot.figures import frontier as figure
from surefoot.figures import style
from surefoot.model import Model
from surefoot.runs.directory import new_directory
from surefoot.training.frontier import Frontier

EVALUATIONS_DIRECTORY = Path("evaluations")
FILES = ("frontier.csv", "frontier.png", "frontier.svg")
DEFAULT_MEASURE = "cvar"


def show_frontier(model: Model, run: Path, risk: str | None, out: Path | None, **evaluation: Any) -> None:
    """Print the frontier of a risk measure, given its name, and write it as a table and as a figure."""
    existing = [name for name in FILES if out is not None and (out / name).exists()]
    if existing:
        raise UserError(f"out: {out} already holds {', '.join(existing)}, accepted: another directory")
    found = model.frontier(risk or DEFAULT_MEASURE, **evaluation)
    directory = out or new_directory(EVALUATIONS_DIRECTORY, f"frontier-{run.resolve().name}")
    files = [directory / name for name in FILES]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        write_csv(files[0], found)
        trained = f"one trained agent, {evaluation['episodes']:,} episodes each"
        title = f"{model.spec.env}, {model.spec.agent}: {trained}"
        drawn = figure.draw(found, title)
        for path in files[1:]:
            style.save(drawn, path)
    except OSError as error:
        raise UserError(f"out: could not write to {directory} ({error.strerror})") from error
    console = Console(highlight=False, soft_wrap=True)
    console.print(_as_table(found))
    console.print("written: " + ", ".join(map(str, files)), markup=False)


def _as_table(found: Frontier) -> Table:
    events = [name for name in found if name.startswith("event_") and not name.endswith(("_low", "_high"))]
    titles = {
        "mean": "mean return",
        "cvar": "CVaR 0.1",
        "believed": "believed",
        "realised": "realised",
        **{name: f"{name.removeprefix('event_')} (share)" for name in events},
    }
    table = Table("attitude", *titles.values())
    table.columns[0].no_wrap = True
    for index, attitude in enumerate(found["attitude"]):
        table.add_row(str(attitude), *(_cell(found, name, index) for name in titles))
    return table


def _cell(found: Frontier, name: str, index: int) -> str:
    numbers: Any = [found[each][index] for each in (name, f"{name}_low", f"{name}_high") if each in found]
    measured, *ends = (f"{number:.3g}" for number in numbers)
    return f"{measured} ({ends[0]} to {ends[1]})" if ends and "nan" not in ends else measured
