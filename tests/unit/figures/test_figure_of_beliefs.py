"""Beliefs as bars: their middle is the mean, their length two deviations."""

import jax.numpy as jnp
import numpy as np

from surefoot.figures import beliefs as figure
from surefoot.types import Beliefs

KNOWN = Beliefs(jnp.array([1.0, 2.0]), jnp.array([0.25, -0.1]), jnp.array([4.0, 1.0]))


def test_bars_reach_one_deviation_to_either_side_of_the_mean():
    (axes,) = figure.draw({"start": KNOWN}, ["left", "right"]).axes
    found = [(each.get_y(), each.get_y() + each.get_height()) for each in axes.patches]
    np.testing.assert_allclose(found, [(-1, 3), (1, 3), (0.5, 1.5), (2, 2)])
    assert [each.get_text() for each in axes.get_xticklabels()] == ["left", "right"]


def test_what_an_agent_does_not_know_is_not_drawn():
    (axes,) = figure.draw({"start": KNOWN._replace(epistemic_variance=None)}, ["left", "right"]).axes
    assert len(axes.patches) == 2


def test_the_history_follows_one_action():
    history = [(100, KNOWN), (200, KNOWN._replace(epistemic_variance=jnp.array([0.0, 9.0])))]
    left, _, _ = figure.draw({"a": KNOWN, "b": KNOWN}, ["left", "right"], history, 1).axes
    aleatoric, epistemic = (each.get_xydata() for each in left.lines)
    np.testing.assert_allclose(aleatoric, [(100, 1), (200, 1)])
    np.testing.assert_allclose(epistemic, [(100, 0), (200, 3)])
