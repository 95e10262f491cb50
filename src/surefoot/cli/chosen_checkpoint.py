"""The checkpoint that a command means when a run is named."""

from pathlib import Path

from surefoot.errors import UserError
from surefoot.runs.directory import CONFIG, last_good_checkpoint, model_checkpoint, read_config


def chosen_checkpoint(run: Path, which: str) -> Path:
    """The best or the last model of a run; what is no run is the model itself."""
    if not (run / CONFIG).is_file():
        return run
    read_config(run)
    found = model_checkpoint(run) if which == "best" else last_good_checkpoint(run)
    if found is None:
        raise UserError(f"{run}: no checkpoint yet, accepted: a run that has one")
    return found
