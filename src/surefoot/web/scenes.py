"""What an environment looks like at one step: a grid, cells in colours, a picture, or bare numbers.

A stage is described once for a run; what changes from step to step is drawn by its `draw`.
"""

import base64
import io
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from surefoot.envs import MINATAR_IDS, minatar, windy_cliff
from surefoot.envs.windy_cliff import is_ledge, wind_at

CLIFF_ID = "surefoot/WindyCliff-v0"
MAX_PIXELS = 420
"""Height and width of a picture; a larger one is made smaller."""
MAX_NUMBERS = 64
"""Numbers of an observation that are shown where there is nothing else to show."""

Scene = dict[str, Any]


class Stage(NamedTuple):
    """How an environment is shown.

    - `description`: what stays the same, with the `kind` that the page draws it by.
    - `draw(state, obs)`: what changes; `state` is that of an environment in JAX, or a rendered picture.
    """

    description: dict[str, Any]
    draw: Callable[[Any, NDArray[Any]], Scene]


def stage_of_state(env: str, kwargs: Mapping[str, Any]) -> Stage | None:
    """The stage of an environment that is drawn from its state or its observation; None for others."""
    if env == CLIFF_ID:
        return cliff_stage(windy_cliff.Config(**kwargs))
    games = {name: game for game, name in MINATAR_IDS.items()}
    return minatar_stage(games[env]) if env in games else None


def cliff_stage(config: windy_cliff.Config) -> Stage:
    """The grid of the windy cliff, with the ledge, the wind, and both paths."""
    bottom, goal, start = config.rows - 1, config.width - 1, config.far_columns
    ledge = [(bottom, column) for column in range(config.width) if is_ledge((bottom, column), config)]
    description = {
        "kind": "cliff",
        "rows": config.rows,
        "columns": config.width,
        "far_columns": config.far_columns,
        "ledge": [list(cell) for cell in ledge],
        "winds": [wind_at(cell, config) for cell in ledge],
        "start": [bottom, start],
        "goal": [bottom, goal],
        "paths": {
            "short": [[bottom, column] for column in range(start, goal + 1)],
            "safe": [
                [bottom, start],
                *([bottom - 1, column] for column in range(start, goal + 1)),
                [bottom, goal],
            ],
        },
    }
    return Stage(description, lambda state, _obs: {"cell": [int(state.row), int(state.column)]})


def minatar_stage(game: str) -> Stage:
    """The cells of a game of MinAtar, each channel by the numbers of its cells."""
    channels = minatar.CHANNELS[game]
    description = {"kind": "cells", "side": minatar.SIDE, "channels": list(channels)}

    def draw(_state: Any, obs: NDArray[Any]) -> Scene:
        flat = np.asarray(obs).reshape(-1, len(channels))
        return {"cells": [np.flatnonzero(flat[:, each]).tolist() for each in range(len(channels))]}

    return Stage(description, draw)


PICTURE_STAGE = Stage({"kind": "picture"}, lambda picture, _obs: {"png": png_text(picture)})
"""The pictures that an environment renders as `rgb_array`."""

NUMBERS_STAGE = Stage(
    {"kind": "numbers"},
    lambda _state, obs: {"numbers": np.asarray(obs, float).reshape(-1)[:MAX_NUMBERS].round(4).tolist()},
)
"""The observation itself, where an environment renders nothing."""


def png_text(picture: NDArray[np.uint8]) -> str:
    """A picture as PNG in base 64."""
    image, file = Image.fromarray(np.asarray(picture, np.uint8)), io.BytesIO()
    image.thumbnail((MAX_PIXELS, MAX_PIXELS))
    image.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def action_names(env: str, actions: int, first: int, gym_env: Any = None) -> list[str]:
    """What the actions are called: by an environment itself, or by their numbers."""
    if env == CLIFF_ID:
        return ["up", "right", "down", "left"]
    if env in MINATAR_IDS.values():
        return list(minatar.ACTIONS)
    meanings = getattr(getattr(gym_env, "unwrapped", None), "get_action_meanings", None)
    found: Any = meanings() if callable(meanings) else []
    names = [str(each).lower() for each in found]
    return names if len(names) == actions else [f"action {first + each}" for each in range(actions)]
