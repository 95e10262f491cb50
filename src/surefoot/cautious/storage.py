"""Thresholds as plain JSON, next to the model that they were fitted to."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from surefoot.cautious.thresholds import ALWAYS, NEVER, Thresholds
from surefoot.errors import UserError, require
from surefoot.system.disk import replace_file

FILE = "cautious.json"
"""The file of thresholds in a model's directory."""
FORMAT = 1

WITHOUT_FIT = {0.0: NEVER, 1.0: ALWAYS}
"""The thresholds of budgets that need no fit."""


def write(path: Path, model: Any, budget: float, thresholds: Thresholds) -> Path:
    """Write thresholds into a directory, or to a file of this name; returns the file."""
    file = path / FILE if path.is_dir() else path
    # JSON has no infinity, which a budget of 0 or 1 says already.
    hand_over, hand_back = thresholds if np.isfinite(thresholds.hand_over) else (None, None)
    contents = {
        "format": FORMAT,
        "model": _identity(model),
        "budget": budget,
        "hand_over": hand_over,
        "hand_back": hand_back,
    }
    replace_file(file, (json.dumps(contents, indent=2) + "\n").encode())
    return file


def read(path: Path, model: Any) -> tuple[float, Thresholds]:
    """The budget and the thresholds in a directory or a file, which must belong to this model."""
    file = path / FILE if path.is_dir() else path
    try:
        found = json.loads(file.read_text())
        version, budget = found["format"], found["budget"]
        fitted_to, levels = found["model"], (found["hand_over"], found["hand_back"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        cause = type(error).__name__
        raise UserError(f"{file}: could not be read ({cause}), accepted: what save wrote") from error
    require(str(file), f"format {version}", version == FORMAT, f"format {FORMAT}")
    mine = _identity(model)
    require("model", mine, fitted_to == mine, f"the one that {file} was fitted to: {fitted_to}")
    if budget in WITHOUT_FIT:
        return float(budget), WITHOUT_FIT[budget]
    are_numbers = all(isinstance(each, int | float) for each in (budget, *levels))
    require(str(file), f"budget {budget}, thresholds {levels}", are_numbers, "numbers")
    return float(budget), Thresholds(*levels)


def _identity(model: Any) -> dict[str, Any] | None:
    """What tells a model from another one, as far as it says."""
    spec = getattr(model, "spec", None)
    if spec is None:
        return None
    return {"agent": spec.agent, "env": spec.env, "seed": spec.seed, "steps": int(model.num_timesteps)}
