"""Figure 3's picture: every mean stands in the middle of its window."""

import numpy as np
import pytest

from surefoot.figures import minatar


@pytest.fixture
def table():
    """Two seeds of one agent on one game, four windows of 50 steps; in the first, no episode of one ended."""
    return {
        "game": np.full(8, "breakout"),
        "agent": np.full(8, "uadqn"),
        "seed": np.repeat([0, 1], 4),
        "step": np.tile([50, 100, 150, 200], 2),
        "mean_return": np.array([np.nan, 2.0, 3.0, 4.0, np.nan, 4.0, 5.0, 6.0]),
    }


def published(game):
    return {
        "game": np.full(3, game),
        "agent": np.full(3, "uadqn"),
        "step": np.array([100, 200, 300]),
        "mean_return": np.array([1.0, 2.0, 3.0]),
    }


def lines(figure):
    return {line.get_linestyle(): line.get_xydata().tolist() for line in figure.axes[0].lines}


def test_means_stand_in_the_middle_of_their_windows(table):
    found = lines(minatar.draw(table, published("breakout"), "paper"))
    assert found["-"] == [[75, 3], [125, 4], [175, 5]]
    assert found["--"] == [[50, 1], [150, 2]]  # What was published goes on, our steps do not.


def test_a_game_of_which_nothing_was_published_has_no_dashes(table):
    figure = minatar.draw(table, published("freeway"), "paper")
    assert set(lines(figure)) == {"-"}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["UA-DQN"]
