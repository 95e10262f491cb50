"""The curves of handing over: what is drawn where."""

import numpy as np

from surefoot.figures import hand_over, hand_over_cliff


def test_each_quantity_has_a_panel_with_its_interval_at_the_realised_rate():
    rows = [
        ("", "return", 0.0, 0.0, 1.0, 0.5, 1.5),
        ("", "fell", 0.0, 0.0, 0.4, 0.3, 0.6),
        ("", "return", 0.1, 0.2, 2.0, 1.5, 2.5),
        ("", "fell", 0.1, 0.2, 0.1, 0.0, 0.2),
    ]
    names = ("group", "quantity", "budget", "rate", "measured", "low", "high")
    table = {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
    left, right = hand_over.draw(table, "of a test").axes
    assert (left.get_ylabel(), right.get_ylabel()) == ("mean return", "share of episodes with fell")
    assert right.lines[0].get_xydata().tolist() == [[0.0, 0.4], [0.2, 0.1]]
    (bars,) = [each for each in right.collections if len(each.get_segments()) == 2]
    np.testing.assert_allclose([each[:, 1] for each in bars.get_segments()], [[0.3, 0.6], [0.0, 0.2]])
    assert [each.get_text() for each in right.texts] == ["0", "0.1"]


def test_budgets_that_hand_over_alike_share_a_label():
    same = {
        "group": np.full(3, ""),
        "quantity": np.full(3, "return"),
        "budget": np.array([0.0, 0.01, 0.5]),
        "rate": np.array([0.0, 0.0, 0.4]),
        **{name: np.array([1.0, 1.0, 2.0]) for name in ("measured", "low", "high")},
    }
    (panel,) = hand_over.draw(same, "").axes
    assert [each.get_text() for each in panel.texts] == ["0 to 0.01", "0.5"]


def test_deployments_of_the_cliff_have_panels_and_chance_its_own_marks():
    keys = [
        (agent, deployment, moments, budget, seed)
        for agent in ("risk-neutral", "risk-averse")
        for deployment, moments in (
            ("trained", "epistemic"),
            ("far", "epistemic"),
            ("mixed", "epistemic"),
            ("mixed", "random"),
        )
        for budget in (0.0, 0.1)
        for seed in range(3)
    ]
    columns = zip(*keys, strict=True)
    names = ("agent", "deployment", "moments", "budget", "seed")
    table = {name: np.array(column) for name, column in zip(names, columns, strict=True)}
    table["rate"] = table["budget"] / 2
    table["fell"] = 0.5 - table["budget"] * 4
    table["return"] = 10 * table["budget"] + table["seed"]
    figure = hand_over_cliff.draw(table, "paper")
    _, *panels = figure.axes
    assert [each.get_title(loc="left") for each in panels[:2]] == [
        "Every episode starts far",
        "One episode in twenty starts far",
    ]
    falls = panels[0].lines[0].get_xydata()
    np.testing.assert_allclose(falls, [[0, 0.5], [0.05, 0.1]])
    labels = [each.get_text() for each in figure.legends[0].get_texts()]
    assert len(labels) == 4
