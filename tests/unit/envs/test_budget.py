"""The budget that a static CVaR acts by: it follows rewards alike in JAX and through Gymnasium."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot.envs import windy_cliff
from surefoot.envs.budget import BudgetRule, WithBudget, add_budget, budget_environment
from surefoot.envs.resolve import clone_env, resolve_env
from tests.small_models import CLIFF

RULE = BudgetRule(discount=0.8, low=-20.0, high=20.0)


def budget_in(obs):
    return RULE.low + obs[-1] * (RULE.high - RULE.low)


def test_what_was_earned_comes_off_and_what_is_left_is_worth_more_later():
    environment = budget_environment(windy_cliff.make(), RULE)
    state, obs = environment.reset(jax.random.key(0))
    state, later = environment.step(state, jnp.asarray(windy_cliff.UP), jax.random.key(1))[:2]
    assert obs.shape == later.shape == environment.observation_space.shape == (12,)
    expected = np.clip((budget_in(obs) + 1) / 0.8, -20, 20)
    assert budget_in(later) == pytest.approx(expected, abs=1e-4)


def test_a_budget_stays_within_its_range():
    env = WithBudget(gymnasium.make(CLIFF), *RULE)
    env.first = lambda _: 0.99
    obs, _ = env.reset(seed=0)
    assert budget_in(obs) == pytest.approx(19.6, abs=1e-4)
    obs, *_ = env.step(windy_cliff.LEFT)
    assert obs[-1] == 1  # A budget of 25.75 ranks actions as one of 20 does.
    assert env.observation_space.contains(obs)


def test_a_seed_fixes_the_first_budget_and_nothing_else_changes():
    env, plain = WithBudget(gymnasium.make(CLIFF), *RULE), gymnasium.make(CLIFF)
    places = []
    for seed in (1, 2, 1):
        obs, _ = env.reset(seed=seed)
        plain.reset(seed=seed)
        places.append(obs[-1])
        for action in (windy_cliff.RIGHT, windy_cliff.RIGHT):
            found, expected = env.step(action), plain.step(action)
            np.testing.assert_array_equal(found[0][:-1], expected[0])
            assert found[1:] == expected[1:]
            if found[2]:
                break
    assert places[0] == places[2] != places[1]


def test_first_budgets_are_drawn_evenly_from_the_range():
    environment = budget_environment(windy_cliff.make(), RULE)
    keys = jax.random.split(jax.random.key(0), 2_000)
    places = np.asarray(jax.jit(jax.vmap(lambda key: environment.reset(key)[1][-1]))(keys))
    assert abs(places.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 2_000)
    assert 0 <= places.min() < 0.01
    assert 0.99 < places.max() <= 1


@pytest.mark.parametrize("driver", ["compiled", "hosted"])
def test_a_second_environment_has_budgets_too(driver):
    handle = clone_env(add_budget(resolve_env(CLIFF, driver=driver), RULE))
    assert handle.gym.reset(0).shape == (12,)
    assert (handle.jax is not None) == (driver == "compiled")
