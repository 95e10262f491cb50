"""Figure 3: lines, intervals and ranges of its panels."""

import numpy as np
import pytest

from surefoot.figures import minatar

RETURNS = np.array([[np.nan, 2.0, 3.0, 4.0], [np.nan, 3.0, 4.0, 5.0], [np.nan, 4.0, 5.0, 6.0]])


def table_of(returns):
    """A table of one agent on one game, with four windows of 50 steps; in the first, no episode ended."""
    return {
        "game": np.full(returns.size, "breakout"),
        "agent": np.full(returns.size, "uadqn"),
        "seed": np.repeat(range(len(returns)), 4),
        "step": np.tile([50, 100, 150, 200], len(returns)),
        "mean_return": returns.ravel(),
    }


@pytest.fixture
def table():
    return table_of(RETURNS)


def published_table(game):
    """A published curve of one seed on a game."""
    return {
        "game": np.full(3, game),
        "agent": np.full(3, "uadqn"),
        "step": np.array([100, 200, 300]),
        "mean_return": np.array([1.0, 2.0, 3.0]),
    }


def lines(figure):
    return {line.get_linestyle(): line.get_xydata().tolist() for line in figure.axes[0].lines}


def test_means_are_drawn_in_the_middle_of_their_windows(table):
    found = lines(minatar.draw(table, published_table("breakout"), "paper"))
    assert found["-"] == [[75, 3], [125, 4], [175, 5]]
    assert found["--"] == [[50, 1], [150, 2]]  # The published curve is cut where the steps of the table end.


def test_a_game_without_a_published_curve_has_no_dashed_line(table):
    figure = minatar.draw(table, published_table("freeway"), "paper")
    assert set(lines(figure)) == {"-"}
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["UA-DQN"]


def test_an_agent_that_the_paper_does_not_have_is_drawn_in_a_colour_of_its_own(table):
    both = {
        name: np.concatenate([values, np.full(values.size, "mine") if name == "agent" else values])
        for name, values in table.items()
    }
    figure = minatar.draw(both, published_table("freeway"), "paper")
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["UA-DQN", "mine"]
    assert len({line.get_color() for line in figure.axes[0].lines}) == 2


def test_three_seeds_have_an_interval_and_two_have_thin_lines():
    other_game = published_table("freeway")
    two, three = (minatar.draw(table_of(RETURNS[:seeds]), other_game, "paper") for seeds in (2, 3))
    assert [line.get_ydata().tolist() for line in two.axes[0].lines] == [
        [2.5, 3.5, 4.5],
        [2, 3, 4],
        [3, 4, 5],
    ]
    assert not two.axes[0].collections
    assert "mean of 2 seeds (thin: each)" in two.get_suptitle()
    assert len(three.axes[0].lines) == len(three.axes[0].collections) == 1
    assert "mean of 3 seeds, 95 % CI" in three.get_suptitle()


def test_the_range_of_a_panel_follows_its_lines_not_their_intervals(table):
    with_outlier = table_of(RETURNS * [[1], [1], [100]])
    for each, highest in ((table, 5), (with_outlier, (4 + 5 + 600) / 3)):
        axes = minatar.draw(each, published_table("freeway"), "paper").axes[0]
        assert axes.get_ylim() == pytest.approx((0, 1.15 * highest))
