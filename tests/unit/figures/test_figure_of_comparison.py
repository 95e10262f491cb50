"""A comparison as a figure: what its panels show, for few groups and for many."""

import numpy as np
import pytest

from surefoot.figures import comparison

STEPS = np.array([100, 200, 300])


def tables_of(groups, tasks=("CartPole-v1",), seeds=3):
    """Curves, runs and scores of groups whose values are their positions."""
    places = [(task, group) for task in tasks for group in groups]
    values = np.array([float(groups.index(group)) for _, group in places])
    curves = {
        "task": np.repeat([task for task, _ in places], 3),
        "group": np.repeat([group for _, group in places], 3),
        "step": np.tile(STEPS, len(places)),
        "iqm": np.repeat(values, 3),
        "iqm_low": np.repeat(values - 1, 3),
        "iqm_high": np.repeat(values + 1, 3),
    }
    runs = {
        "task": np.repeat([task for task, _ in places], seeds),
        "group": np.repeat([group for _, group in places], seeds),
        "score": np.repeat(values, seeds),
    }
    scores = {
        "task": np.array([task for task, _ in places]),
        "group": np.array([group for _, group in places]),
        "seeds": np.full(len(places), seeds),
        "iqm": values,
        "iqm_low": values - 1,
        "iqm_high": values + 1,
    }
    return curves, runs, scores


def draw(tables):
    return comparison.draw(*tables, metric="return", all_tasks="all tasks")


def legend(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_curves_are_drawn_in_the_middle_of_their_windows_with_their_intervals():
    figure = draw(tables_of(["a", "b"]))
    axes, final = figure.axes
    assert [line.get_xydata().tolist() for line in axes.lines] == [
        [[50, value], [150, value], [250, value]] for value in (0, 1)
    ]
    band = axes.collections[1].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == (0, 2)
    assert axes.get_ylim() == final.get_ylim()
    assert legend(figure) == ["a (3 seeds)", "b (3 seeds)"]
    for words in ("Interquartile mean", "95 % stratified bootstrap"):
        assert words in figure.get_suptitle()


def test_windows_without_a_value_are_bridged():
    curves, runs, scores = tables_of(["a"])
    curves["iqm"][1] = np.nan
    axes, _ = draw((curves, runs, scores)).axes
    assert axes.lines[0].get_xydata().tolist() == [[50, 0], [250, 0]]


def test_every_run_is_a_dot_beside_the_interval_of_its_group():
    _, final = draw(tables_of(["a", "b"])).axes
    runs, interval, mean = [line.get_ydata().tolist() for line in final.lines[3:]]
    assert (runs, interval, mean) == ([1, 1, 1], [0, 2], [1])


@pytest.mark.parametrize("count", [2, 6])
def test_groups_have_colours_of_their_own_that_the_legend_shows(count):
    groups = [f"uadqn exploration={number}" for number in range(count)]
    figure = draw(tables_of(groups))
    curves = {line.get_color() for line in figure.axes[0].lines}
    assert len(curves) == count
    assert [line.get_color() for line in figure.legends[0].get_lines()] == [
        line.get_color() for line in figure.axes[0].lines
    ]


def test_each_task_has_a_panel_and_normalised_scores_have_one_without_a_curve():
    figure = draw(tables_of(["a", "b"], ("x", "y", "all tasks")))
    assert [axes.get_title("left") for axes in figure.axes] == ["x", "", "y", "", "all tasks"]
    assert "1: the best" in figure.axes[-1].get_xlabel()


def test_a_group_that_lacks_a_task_keeps_its_colour_on_the_others():
    tables = tables_of(["a", "b"], ("x", "y"))
    without = [
        {name: values[(each["task"] != "x") | (each["group"] != "a")] for name, values in each.items()}
        for each in tables
    ]
    figure = draw(without)
    x, _, y, _ = figure.axes
    assert [line.get_label() for line in x.lines] == ["b"]
    assert {line.get_label(): line.get_color() for line in y.lines}["b"] == x.lines[0].get_color()
    labels = dict(
        zip(legend(figure), (line.get_color() for line in figure.legends[0].get_lines()), strict=True)
    )
    assert labels["b (3 seeds)"] == x.lines[0].get_color()


def test_one_seed_has_no_interval_and_the_legend_says_one_seed():
    curves, runs, scores = tables_of(["a"], seeds=1)
    nothing = {"iqm_low": np.nan, "iqm_high": np.nan}
    curves, scores = (
        {**each, **{name: np.full(len(each["iqm"]), value) for name, value in nothing.items()}}
        for each in (curves, scores)
    )
    assert legend(draw((curves, runs, scores))) == ["a (1 seed)"]
