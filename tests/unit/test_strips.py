"""Beliefs and models as a notebook shows them."""

import re
import xml.etree.ElementTree as ElementTree

import jax.numpy as jnp
import numpy as np
import pytest

import surefoot
from surefoot.strips import MAX_PICTURES, WIDTH, kernel_density, table_html
from surefoot.types import Beliefs
from tests.small_models import CLIFF, QUICK

BELIEFS = Beliefs(
    mean=jnp.array([1.0, 3.0]),
    epistemic_variance=jnp.array([4.0, 0.25]),
    aleatoric_variance=jnp.array([1.0, -2.0]),
    quantiles=jnp.array([[0.0, 2.0], [3.0, 3.0]]),
)


def numbers_of(html):
    """What the picture says in words, by action."""
    label = ElementTree.fromstring(html).get("aria-label")
    return [
        list(map(float, re.findall(r"(?:mean|aleatoric|epistemic) (-?[\d.]+)", part)))
        for part in label.split(";")
    ]


def test_beliefs_say_their_numbers_and_stay_within_the_picture():
    html = BELIEFS._repr_html_()
    assert numbers_of(html) == [[1, 1, 2], [3, 0, 0.5]]  # Mean, aleatoric and epistemic deviation.
    for path in ElementTree.fromstring(html).iter("path"):
        for x in re.findall(r"M(-?[\d.]+) ", path.get("d")):
            assert 0 <= float(x) <= WIDTH


def test_what_an_agent_does_not_know_is_left_out():
    assert numbers_of(Beliefs(mean=BELIEFS.mean)._repr_html_()) == [[1], [3]]


def test_of_a_batch_the_first_observations_are_shown():
    batch = Beliefs(*(jnp.repeat(part[None], 6, axis=0) for part in BELIEFS[:4]))
    html = batch._repr_html_()
    assert html.count("<svg") == MAX_PICTURES
    assert "and 2 more" in html


def test_a_model_says_what_it_is_and_names_are_no_markup():
    html = surefoot.UADQN(CLIFF, **QUICK)._repr_html_()
    assert CLIFF in html
    assert "UADQN" in html
    assert "<script>" not in table_html("<script>", {"<script>": "<script>"})


def test_the_density_of_a_sample_integrates_to_one_and_keeps_two_outcomes_apart():
    at = np.linspace(-10, 10, 4_001)
    density = kernel_density(np.array([-3.0] * 5 + [3.0] * 5), at)
    assert density.sum() * (at[1] - at[0]) == pytest.approx(1, abs=1e-3)
    assert density[2_000] < 0.05 * density.max()
