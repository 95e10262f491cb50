"""Renders of the windy cliff: the agent is drawn in its cell, in pixels and in letters."""

import gymnasium
import jax.numpy as jnp
import numpy as np
import pytest

import surefoot  # noqa: F401 (registers the environment)
from surefoot.envs.windy_cliff import Config, State
from surefoot.envs.windy_cliff_render import AGENT_COLOR, CELL_PIXELS, COLORS, render_pixels, render_text

SMALL = Config(rows=3, columns=4, time_limit=9)


def state_at(row, column, time=0):
    return State(*(jnp.asarray(each, jnp.int32) for each in (row, column, time)))


@pytest.mark.parametrize(("row", "column"), [(2, 0), (0, 3), (2, 3), (1, 1)])
def test_the_agent_is_drawn_within_its_cell_alone(row, column):
    picture = render_pixels(state_at(row, column), SMALL)
    assert picture.dtype == np.uint8
    assert picture.shape == (3 * CELL_PIXELS, 4 * CELL_PIXELS, 3)
    rows, columns = np.nonzero(np.all(picture == AGENT_COLOR, axis=-1))
    assert set(rows // CELL_PIXELS) == {row}
    assert set(columns // CELL_PIXELS) == {column}


def test_every_cell_has_the_colour_of_its_kind():
    corners = render_pixels(state_at(0, 0), SMALL)[::CELL_PIXELS, ::CELL_PIXELS]
    ground, ledge, start, goal = (COLORS[kind] for kind in ("ground", "ledge", "start", "goal"))
    np.testing.assert_array_equal(corners, [[ground] * 4, [ground] * 4, [start, ledge, ledge, goal]])


def test_the_text_has_a_letter_per_cell_and_the_time():
    assert render_text(state_at(1, 2, 7), SMALL) == "....\n..@.\nS~~G\ntime 7 of 9"


def test_the_far_part_has_a_ledge_and_a_start_of_its_own():
    far = Config(far_columns=3, columns=4)
    assert render_text(state_at(0, 0), far) == "@......\nS%%S~~G\ntime 0 of 15"
    bottom = render_pixels(state_at(0, 0), far)[CELL_PIXELS, ::CELL_PIXELS]
    kinds = ("start", "far ledge", "far ledge", "start", "ledge", "ledge", "goal")
    np.testing.assert_array_equal(bottom, [COLORS[kind] for kind in kinds])


def test_the_gymnasium_environment_renders_in_both_modes():
    texts = gymnasium.make("surefoot/WindyCliff-v0", render_mode="ansi")
    texts.reset(seed=0)
    assert texts.render() == ".....\n@~~~G\ntime 0 of 15"
    pictures = gymnasium.make("surefoot/WindyCliff-v0", render_mode="rgb_array")
    pictures.reset(seed=0)
    np.testing.assert_array_equal(pictures.render(), render_pixels(state_at(1, 0), Config()))
