"""Which runs are compared: all those in the directories that are named, as far as they are finished."""

from collections.abc import Iterable, Mapping
from glob import glob
from pathlib import Path
from typing import Any, NamedTuple

from surefoot.errors import UserError, require
from surefoot.runs.directory import CONFIG, read_config
from surefoot.runs.log_files import latest
from surefoot.sweeps.ledger import LEDGER, planned_names
from surefoot.sweeps.runner import RUNS

ACCEPTED = "directories of runs, of sweeps, or patterns such as 'runs/cartpole-*'"
KINDS = {
    "env": str,
    "env_kwargs": dict,
    "agent": str,
    "preset": str,
    "seed": int,
    "steps": int,
    "settings": dict,
}
"""What a run's configuration must hold, and of which kind."""
MAX_NAMED = 5
"""Runs that one line names; it counts the others."""


class SelectedRun(NamedTuple):
    """A finished run."""

    path: Path
    source: str
    """The directory that was named, if the run lies in it; otherwise the one around the run."""
    config: Mapping[str, Any]
    steps: int
    """Steps that it made."""


class LeftOut:
    """Runs that are not compared, by the reason."""

    def __init__(self) -> None:
        self._by_reason: dict[str, list[str]] = {}

    def add(self, reason: str, what: object) -> None:
        """Leave out a run for this reason."""
        self._by_reason.setdefault(reason, []).append(str(what))

    def notes(self) -> list[str]:
        """A line for each reason, which names its runs."""
        return [
            f"left out, {reason}: {', '.join(names[:MAX_NAMED])}"
            + (f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else "")
            for reason, names in self._by_reason.items()
        ]


def select_runs(given: Iterable[str | Path], left_out: LeftOut) -> list[SelectedRun]:
    """The finished runs in all directories that are named, each once and in this order."""
    found: dict[Path, SelectedRun] = {}
    for directory in (each for argument in given for each in _directories(argument)):
        runs = _runs_in(directory)
        if not runs:
            left_out.add("no run there", directory)
        for path in runs:
            source = directory.parent if path == directory else directory
            run = _selected(path, str(source), left_out) if path.resolve() not in found else None
            if run is not None:
                found[path.resolve()] = run
    if not found:
        reasons = "; ".join(left_out.notes())
        raise UserError(f"runs: nothing to compare ({reasons or 'none is named'}), accepted: {ACCEPTED}")
    return list(found.values())


def _directories(argument: str | Path) -> list[Path]:
    path = Path(argument)
    found = [path] if path.exists() else [Path(each) for each in sorted(glob(str(argument)))]  # noqa: PTH207
    require("runs", argument, bool(found), ACCEPTED)
    return found


def _runs_in(directory: Path) -> list[Path]:
    """The directory itself if it is a run; those of the sweep, in the order of its plan; or those in it."""
    if (directory / CONFIG).exists():
        return [directory]
    is_sweep = (directory / LEDGER).exists()
    home = directory / RUNS if is_sweep else directory
    planned = [home / name for name in planned_names(directory)] if is_sweep else []
    found = sorted(path.parent for path in home.glob(f"*/{CONFIG}"))
    return list(dict.fromkeys([*planned, *found]))


def _selected(path: Path, source: str, left_out: LeftOut) -> SelectedRun | None:
    """A run; None if it is damaged, empty or not finished."""
    if not path.exists():
        left_out.add("not begun", path)
        return None
    try:
        config: dict[str, Any] = {"env_kwargs": {}, **read_config(path)}
    except UserError:
        config = {}
    if not all(isinstance(config.get(name), kind) for name, kind in KINDS.items()):
        left_out.add(f"missing or damaged {CONFIG}", path)
        return None
    try:
        steps = int(latest(path).get("step", 0))
    except (ValueError, TypeError):
        left_out.add("damaged log", path)
        return None
    if steps < config["steps"]:
        left_out.add("unfinished", f"{path} (step {steps:,} of {config['steps']:,})")
        return None
    return SelectedRun(path, source, config, steps)
