"""Attitudes to risk: their text, their values, and the action that they choose."""

import jax.numpy as jnp
import numpy as np
import pytest

from surefoot.errors import UserError
from surefoot.risk import MEAN, RiskKind, best_action, greedy, parse_risk, risk_from
from surefoot.types import Beliefs
from tests.made_up_beliefs import chosen

BELIEFS = Beliefs(mean=jnp.array([4.86, 4.0]), aleatoric_variance=jnp.array([2.8**2, 0.0]))


@pytest.mark.parametrize("text", ["mean", "mean-sd:0.5", "mean-sd:0.1", "mean-sd:3"])
def test_the_text_of_a_measure_is_what_it_is_read_from(text):
    measure = parse_risk(text)
    assert str(measure) == str(parse_risk(str(measure)))
    assert parse_risk(str(measure)) == measure


def test_no_aversion_is_the_mean():
    assert parse_risk("mean-sd:0") == MEAN == risk_from(None, 0.0)
    assert risk_from(None, None) is None
    assert (
        risk_from("mean-sd:0.5", None) == risk_from(None, 0.5) == risk_from(parse_risk("mean-sd:0.5"), None)
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mean-sd",
        "mean-sd:",
        "mean-sd:-1",
        "mean-sd:inf",
        "mean-sd:x",
        "luck",
        "mean:1",
        "mean-sd:1:2",
        "mean_sd:0.5",
    ],
)
def test_an_unknown_attitude_is_refused_with_what_is_accepted(text):
    with pytest.raises(UserError, match=r"risk: got .*accepted: mean($|, mean-sd:LAMBDA|-sd:LAMBDA with)"):
        parse_risk(text)


def test_text_and_number_together_are_refused():
    with pytest.raises(UserError, match="risk: got mean-sd:1 and risk_aversion 2, accepted: one of the two"):
        risk_from("mean-sd:1", 2)


def test_risk_aversion_trades_mean_for_certainty():
    np.testing.assert_allclose(parse_risk("mean-sd:0.5")(BELIEFS), [4.86 - 1.4, 4.0], rtol=1e-6)
    assert best_action(BELIEFS) == 0
    assert best_action(BELIEFS, parse_risk("mean-sd:0.5")) == 1
    assert np.all(chosen(greedy(), BELIEFS) == 0)
    assert np.all(chosen(greedy(parse_risk("mean-sd:0.5")), BELIEFS) == 1)


def test_a_negative_variance_counts_as_zero():
    beliefs = Beliefs(mean=jnp.array([1.0, 1.1]), aleatoric_variance=jnp.array([-5.0, -5.0]))
    assert best_action(beliefs, parse_risk("mean-sd:2")) == 1
    np.testing.assert_array_equal(beliefs.aleatoric, [0, 0])


def test_an_agent_without_aleatoric_uncertainty_can_only_take_the_mean():
    with pytest.raises(UserError, match="without aleatoric uncertainty, accepted: mean"):
        parse_risk("mean-sd:1")(Beliefs(mean=jnp.zeros(2)))
    np.testing.assert_array_equal(MEAN(Beliefs(mean=jnp.zeros(2))), [0, 0])


WORST = RiskKind(
    lambda beliefs, weight: weight * beliefs.quantiles.min(axis=-1), lambda weight: weight > 0, "WORST:WEIGHT"
)
"""A risk measure of a user's own."""


def test_a_users_own_measure_is_found_by_its_import_path():
    beliefs = Beliefs(mean=jnp.zeros(2), quantiles=jnp.array([[-1.0, 5.0], [-3.0, 9.0]]))
    measure = parse_risk(f"{__name__}:WORST:2")
    np.testing.assert_array_equal(measure(beliefs), [-2, -6])
    assert parse_risk(str(measure)) == measure
    for wrong, says in (("WORST:0", "accepted: WORST:WEIGHT"), ("WORST", "accepted: WORST:WEIGHT")):
        with pytest.raises(UserError, match=says):
            parse_risk(f"{__name__}:{wrong}")
    with pytest.raises(UserError, match="AttributeError"):
        parse_risk(f"{__name__}:BEST:1")
