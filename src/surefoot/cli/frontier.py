"""`surefoot evaluate RUN --frontier`: one attitude to risk from neutral to averse, on one trained agent."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from surefoot.figures import frontier as figure
from surefoot.model import Model
from surefoot.results import ResultFiles
from surefoot.runs.provenance import provenance
from surefoot.training.frontier import Frontier

EVALUATIONS_DIRECTORY = Path("evaluations")
FILES = ResultFiles("frontier", ("frontier",))
DEFAULT_MEASURE = "cvar"


def show_frontier(model: Model, run: Path, risk: str | None, out: Path | None, **evaluation: Any) -> None:
    """Print the frontier of a risk measure, given its name, and write it as a table and as a figure."""
    name = f"frontier-{run.resolve().name}"
    if out is not None:
        FILES.directory(out, EVALUATIONS_DIRECTORY, name, overwrite=False)  # A mistake is noticed early.
    found = model.frontier(risk or DEFAULT_MEASURE, **evaluation)
    directory = FILES.directory(out, EVALUATIONS_DIRECTORY, name, overwrite=False)
    played = {"run": str(run), "env": model.spec.env, "agent": model.spec.agent}
    episodes: int = evaluation["episodes"]
    title = f"{model.spec.env}, {model.spec.agent}: one trained agent, {episodes:,} episodes each"
    summary = {**played, "risk": risk or DEFAULT_MEASURE, "episodes": episodes, **provenance()}
    files = FILES.write(directory, {"frontier": found}, figure.draw(found, title), summary)
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
