"""The frontier's figure shows the table that it is given."""

import numpy as np

from surefoot.figures import frontier


def test_points_that_coincide_share_an_entry_of_the_legend():
    mean, cvar = np.array([4.8, 4.8, 4.0]), np.array([-2.5, -2.5, 4.0])
    ends = {
        f"{name}_{end}": values
        for name, values in (("mean", mean), ("cvar", cvar))
        for end in ("low", "high")
    }
    share = np.array([0.15, 0.15, 0.0])
    table = {
        "attitude": np.array(["mean", "cvar:0.6", "cvar:0.4"]),
        "mean": mean,
        "cvar": cvar,
        **ends,
        "event_fell": share,
        "event_fell_low": share,
        "event_fell_high": share + 0.01,
    }
    figure = frontier.draw(table, "title")
    points, falls = figure.axes
    assert [text.get_text() for text in points.get_legend().get_texts()] == ["mean to cvar:0.6", "cvar:0.4"]
    assert falls.get_title(loc="left") == "Episodes with fell"
    assert [tick.get_text() for tick in falls.get_xticklabels()] == table["attitude"].tolist()
    np.testing.assert_array_equal(falls.lines[0].get_ydata(), share)
