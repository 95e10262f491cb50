"""Renders of deep sea, as text and as a picture."""

import numpy as np
from numpy.typing import NDArray

from surefoot.envs.deep_sea import Config, State

WATER_TOP, WATER_BOTTOM = (173, 216, 230), (18, 52, 86)
PATH_COLOR, DIVER_COLOR, TREASURE_COLOR = (120, 170, 200), (213, 94, 0), (240, 190, 70)
PICTURE_PIXELS = 400
"""Height and width of a picture, about: each cell has a whole number of pixels."""


def render_text(state: State, config: Config) -> str:
    """The grid in letters (@ diver, $ treasure, + the path to it, . water), and the row."""
    letters = np.full((config.size, config.size), ".")
    np.fill_diagonal(letters, "+")
    letters[-1, -1] = "$"
    if int(state.row) < config.size:
        letters[int(state.row), int(state.column)] = "@"
    return "\n".join([*("".join(row) for row in letters), f"row {int(state.row)} of {config.size}"])


def render_pixels(state: State, config: Config) -> NDArray[np.uint8]:
    """The grid as a picture, `[height, width, 3]`: water that darkens, the path, the treasure, the diver."""
    size = config.size
    depth = np.linspace(0, 1, size)[:, None, None]
    cells = (1 - depth) * np.array(WATER_TOP) + depth * np.array(WATER_BOTTOM)
    cells = np.broadcast_to(cells, (size, size, 3)).copy()
    diagonal = np.arange(size)
    cells[diagonal, diagonal] = 0.6 * cells[diagonal, diagonal] + 0.4 * np.array(PATH_COLOR)
    cells[-1, -1] = TREASURE_COLOR
    if int(state.row) < size:
        cells[int(state.row), int(state.column)] = DIVER_COLOR
    pixels = max(1, PICTURE_PIXELS // size)
    return np.repeat(np.repeat(cells.astype(np.uint8), pixels, axis=0), pixels, axis=1)
