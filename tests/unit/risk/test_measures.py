"""Risk measures of returns whose measures have closed forms: uniform, Bernoulli, normal, exponential."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

from surefoot.agents.objectives import quantile_belief_shapes
from surefoot.errors import UserError
from surefoot.risk import MEAN, RISK_MEASURES, frontier_of, measures, parse_risk
from surefoot.types import Beliefs

OF_QUANTILES = ("cvar", "wang", "entropic", "power")


def beliefs_of(returns):
    """One action with these equally likely returns, in no order."""
    shuffled = np.random.default_rng(0).permutation(np.asarray(returns, float))
    return Beliefs(mean=jnp.array([shuffled.mean()], jnp.float32), quantiles=jnp.asarray(shuffled)[None])


def value(text, returns):
    return float(parse_risk(text)(beliefs_of(returns))[0])


UNIFORM = (np.arange(1_000) + 0.5) / 1_000
"""Midpoint quantiles of a return that is uniform from 0 to 1."""

UNIFORM_CASES = {
    # The mean of a uniform return from 0 to alpha.
    "cvar:0.1": 0.05,
    "cvar:0.37": 0.185,
    # E[Phi(X + eta)] = Phi(eta / sqrt 2) for a standard normal X.
    "wang:-0.75": norm.cdf(-0.75 / math.sqrt(2)),
    "wang:0.75": norm.cdf(0.75 / math.sqrt(2)),
    # -log((1 - exp(-beta)) / beta) / beta.
    "entropic:2": -math.log((1 - math.exp(-2)) / 2) / 2,
    "entropic:-3": math.log((math.exp(3) - 1) / 3) / 3,
    # The expected lowest of three uniform numbers is 1/4, the expected highest of three 3/4.
    "power:-2": 0.25,
    "power:2": 0.75,
    "power:-0.5": 0.4,
}


@pytest.mark.parametrize("text", UNIFORM_CASES)
def test_a_uniform_return_has_the_closed_form(text):
    assert value(text, UNIFORM) == pytest.approx(UNIFORM_CASES[text], abs=1e-4)


BERNOULLI = np.repeat([0.0, 1.0], [12, 28])
"""A return of 1 with probability 0.7, otherwise 0, as 40 quantiles."""

BERNOULLI_CASES = {
    # All of the worst 30 % is 0; of the worst half, two fifths are 1.
    "cvar:0.1": 0.0,
    "cvar:0.3": 0.0,
    "cvar:0.5": 0.4,
    # Phi(Phi^-1(p) + eta).
    "wang:-0.75": norm.cdf(norm.ppf(0.7) - 0.75),
    "wang:1": norm.cdf(norm.ppf(0.7) + 1),
    "entropic:2": -math.log(0.3 + 0.7 * math.exp(-2)) / 2,
    "entropic:-1": math.log(0.3 + 0.7 * math.e),
    # All of three are 1; one of three is 1.
    "power:-2": 0.7**3,
    "power:2": 1 - 0.3**3,
}


@pytest.mark.parametrize("text", BERNOULLI_CASES)
def test_a_bernoulli_return_has_the_closed_form(text):
    assert value(text, BERNOULLI) == pytest.approx(BERNOULLI_CASES[text], abs=1e-5)


def test_wang_moves_the_mean_of_a_normal_return_by_eta_standard_deviations():
    returns = 3 + 2 * norm.ppf((np.arange(20_000) + 0.5) / 20_000)
    assert value("wang:-0.5", returns) == pytest.approx(3 - 0.5 * 2, abs=5e-3)
    assert value("entropic:0.5", returns) == pytest.approx(3 - 0.5 / 2 * 4, abs=5e-3)


def test_a_border_quantile_counts_by_its_part():
    """Of five quantiles the worst 0.5 are two and a half."""
    assert value("cvar:0.5", [4, 1, 10, 2, 100]) == pytest.approx((1 + 2 + 0.5 * 4) / 2.5)


@pytest.mark.parametrize("beta", [1e-6, 1e-4, 50.0, 1e4, -1e4])
def test_entropic_stays_finite_and_exact_at_both_ends(beta):
    """Near 0 it is the mean less beta / 2 variances; far from 0 it is the worst or the best return."""
    returns = np.array([-300.0, 0.0, 700.0, 800.0])
    found = value(f"entropic:{beta}", returns)
    if abs(beta) < 1e-3:
        assert found == pytest.approx(returns.mean() - beta / 2 * returns.var(), rel=1e-4)
    else:
        end, sign = (returns.min(), 1) if beta > 0 else (returns.max(), -1)
        assert found == pytest.approx(end + sign * math.log(4) / abs(beta), rel=1e-5)


@pytest.mark.parametrize("name", [name for name in RISK_MEASURES if name != "mean"])
def test_a_grid_goes_from_the_mean_to_ever_more_averse_attitudes(name):
    rng = np.random.default_rng(1)
    beliefs = beliefs_of(rng.normal(size=50))._replace(
        aleatoric_variance=jnp.ones(1), epistemic_variance=jnp.ones(1)
    )
    attitudes = frontier_of(name)
    assert attitudes[0] == MEAN
    values = [float(each(beliefs)[0]) for each in attitudes]
    assert np.all(np.diff(values) < 0), values


@pytest.mark.parametrize("name", OF_QUANTILES)
def test_measures_of_quantiles_move_and_scale_with_the_return(name):
    """Money added for sure is added to the value; a distortion is also in proportion to what is at stake."""
    text = f"{name}:{RISK_MEASURES[name].grid[3]!r}"
    returns = np.random.default_rng(2).normal(size=40)
    assert value(text, returns + 5) == pytest.approx(value(text, returns) + 5, abs=1e-4)
    if name != "entropic":
        assert value(text, 3 * returns) == pytest.approx(3 * value(text, returns), abs=1e-4)


def test_pessimism_takes_off_what_is_not_known_and_leaves_chance_alone():
    beliefs = Beliefs(jnp.array([5.0, 4.0]), jnp.array([9.0, 0.0]), jnp.array([0.0, 100.0]))
    np.testing.assert_allclose(parse_risk("pessimism:0.5")(beliefs), [3.5, 4.0])


def test_a_budget_promises_the_cvar_where_it_is_the_quantile_and_less_elsewhere():
    returns = np.arange(20.0)  # CVaR 0.2 is the mean of 0 to 3; any budget from 3 to 4 promises it.
    beliefs = beliefs_of(returns)
    budgets = jnp.array([0.0, 2.0, 3.0, 3.5, 4.0, 9.0])
    many = Beliefs(
        jnp.broadcast_to(beliefs.mean, (6, 1)),
        quantiles=jnp.broadcast_to(beliefs.quantiles, (6, 1, 20)),
        budget=budgets,
    )
    promised = np.asarray(measures.budgeted_cvar(many, 0.2))[:, 0]
    np.testing.assert_allclose(promised[2:5], 1.5, rtol=1e-5)
    assert np.all(promised[[0, 1, 5]] < 1.5)


SHAPES = quantile_belief_shapes(50, epistemic=True)


@pytest.mark.parametrize("text", ["cvar:0.04", "wang:-2", "wang:2", "power:-30", "power:30", "entropic:99"])
def test_a_measure_that_the_quantiles_resolve_is_served(text):
    parse_risk(text).require_served_by(SHAPES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cvar:0.039", r"got cvar:0.039 for 50 quantiles, .* accepted: cvar:ALPHA from 0.04 \(2/50\)"),
        ("wang:-3", r"got wang:-3 for 50 quantiles, of which one would have 83% of the weight"),
        ("wang:3", "83% of the weight, accepted: at most 50%"),
        ("power:-60", "got power:-60 for 50 quantiles, of which one would have 71%"),
    ],
)
def test_a_tail_finer_than_the_quantiles_resolve_is_refused_with_the_numbers(text, message):
    with pytest.raises(UserError, match=message):
        parse_risk(text).require_served_by(SHAPES)


@pytest.mark.parametrize("text", [f"{name}:{RISK_MEASURES[name].grid[2]!r}" for name in OF_QUANTILES])
def test_an_agent_without_quantiles_cannot_serve_a_measure_of_them(text):
    name = text.split(":")[0]
    with pytest.raises(UserError, match=f"risk: got {name} for an agent without quantiles, accepted: mean"):
        parse_risk(text).require_served_by(Beliefs(jnp.zeros(2)))


@pytest.mark.parametrize("text", ["cvar:0", "cvar:1.1", "cvar", "wang:x", "pessimism:-1", "entropic:inf"])
def test_numbers_out_of_range_are_refused_with_how_it_is_written(text):
    name = text.split(":")[0]
    with pytest.raises(UserError, match=f"risk: got {text}, accepted: {name}:[A-Z]+ with a number"):
        parse_risk(text)


def test_a_measure_without_a_grid_has_no_frontier():
    with pytest.raises(UserError, match=r"risk: got cvr, accepted: mean-sd, cvar, .*did you mean cvar"):
        frontier_of("cvr")
