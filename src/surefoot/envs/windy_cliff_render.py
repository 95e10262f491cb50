"""Renders of the windy cliff, as text and as a picture."""

import numpy as np
from numpy.typing import NDArray

from surefoot.envs.windy_cliff import Config, State, is_ledge

COLORS = {
    "ground": (236, 229, 214),
    "ledge": (168, 184, 201),
    "far ledge": (110, 130, 154),
    "start": (188, 212, 177),
    "goal": (94, 160, 94),
}
AGENT_COLOR, LINE_COLOR = (213, 94, 0), (255, 255, 255)
CELL_PIXELS = 48


def _cell_kind(cell: tuple[int, ...], config: Config) -> str:
    if cell == (config.rows - 1, config.width - 1):
        return "goal"
    if cell[0] == config.rows - 1 and cell[1] in {0, config.far_columns}:
        return "start"
    if is_ledge(cell, config):
        return "ledge" if cell[1] > config.far_columns else "far ledge"
    return "ground"


def render_text(state: State, config: Config) -> str:
    """The grid in letters (S start, G goal, ~ ledge, % far ledge, . ground, @ agent), and the time."""
    letters = {"ground": ".", "ledge": "~", "far ledge": "%", "start": "S", "goal": "G"}
    here = (int(state.row), int(state.column))
    lines = [
        "".join(
            "@" if (row, column) == here else letters[_cell_kind((row, column), config)]
            for column in range(config.width)
        )
        for row in range(config.rows)
    ]
    return "\n".join([*lines, f"time {int(state.time)} of {config.time_limit}"])


def render_pixels(state: State, config: Config) -> NDArray[np.uint8]:
    """The grid as a picture, `[height, width, 3]`, with the agent as a disc."""
    size = CELL_PIXELS
    picture = np.zeros((config.rows * size, config.width * size, 3), np.uint8)
    rows, columns = np.mgrid[:size, :size] - (size - 1) / 2
    for cell in np.ndindex(config.rows, config.width):
        tile = picture[cell[0] * size : (cell[0] + 1) * size, cell[1] * size : (cell[1] + 1) * size]
        tile[:] = COLORS[_cell_kind(cell, config)]
        tile[-1], tile[:, -1] = LINE_COLOR, LINE_COLOR
        if cell == (int(state.row), int(state.column)):
            tile[rows**2 + columns**2 < (size / 3) ** 2] = AGENT_COLOR
    return picture
