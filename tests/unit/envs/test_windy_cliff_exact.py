"""The exact returns of the windy cliff: closed forms, and agreement with simulation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot.envs import windy_cliff
from surefoot.envs.windy_cliff import DOWN, LEFT, RIGHT, UP, Config
from surefoot.envs.windy_cliff_exact import exact_returns, path_kind

KEYS = jax.random.split(jax.random.key(0), 20_000)
RISKY = np.full((15, 2, 5), RIGHT)
SAFE = RISKY.copy()
SAFE[:, 1, 0], SAFE[:, 0, 4] = UP, DOWN


def test_exact_returns_of_both_paths():
    risky, safe = exact_returns(RISKY), exact_returns(SAFE)
    assert risky.mean[0, 1, 0] == pytest.approx(4.863875)
    assert risky.sd[0, 1, 0] ** 2 == pytest.approx(7.854345, rel=1e-6)
    assert safe.mean[0, 1, 0] == 4
    assert safe.sd[0, 1, 0] == 0


def test_a_path_is_risky_if_it_uses_the_ledge_safe_if_not_and_none_if_it_misses_the_goal():
    assert path_kind(RISKY) == "risky"
    assert path_kind(SAFE) == "safe"
    assert path_kind(np.full((15, 2, 5), UP)) == "none"
    assert path_kind(np.where(np.arange(5) == 1, DOWN, RISKY)) == "none"


FAR = Config(far_columns=4, far_starts=1.0)


def test_exact_returns_of_both_paths_from_far():
    """Three steps in a wind of 0.3, two without, three in one of 0.05; a fall at step k has cost k."""
    risky = np.full((15, 2, 9), RIGHT)
    safe = risky.copy()
    safe[:, 1, 0], safe[:, 0, 8] = UP, DOWN
    stays = np.array([0.7] * 3 + [1.0] + [0.95] * 3)
    falls_at = np.cumprod([1, *stays[:-1]]) * (1 - stays)
    expected = -(falls_at * np.arange(1, 8)).sum() + np.prod(stays) * (10 - 8)
    assert exact_returns(risky, FAR).mean[0, 1, 0] == pytest.approx(expected)
    assert exact_returns(safe, FAR).mean[0, 1, 0] == 0
    assert exact_returns(safe, FAR).sd[0, 1, 0] == 0
    assert path_kind(risky, FAR, from_far=True) == "risky"
    assert path_kind(safe, FAR, from_far=True) == "safe"


def test_beyond_the_gate_the_cliff_is_the_one_without_a_far_part():
    far_risky = np.full((15, 2, 9), RIGHT)
    near, far = exact_returns(RISKY), exact_returns(far_risky, FAR)
    np.testing.assert_allclose(far.mean[:, :, 4:], near.mean)
    np.testing.assert_allclose(far.sd[:, :, 4:], near.sd)
    assert path_kind(far_risky, FAR) == "risky"
    leftwards = np.full((15, 2, 9), LEFT)
    assert path_kind(leftwards, FAR) == "none"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("discount", "changes"),
    [(1.0, {}), (0.9, {}), (1.0, {"far_columns": 3, "far_wind": 0.5, "far_starts": 1.0})],
)
def test_exact_returns_agree_with_simulation_for_any_policy_and_any_cliff(seed, discount, changes):
    config = Config(rows=3, columns=4, wind=0.3, goal_reward=7.0, fall_reward=-2.0, time_limit=6, **changes)
    rng = np.random.default_rng(seed)
    policy_table = rng.integers(0, 4, size=(6, 3, config.width))
    policy_table[:, -1, 0], policy_table[:, -1, 1] = RIGHT, rng.choice([RIGHT, UP])
    environment = windy_cliff.make(config)
    table = jnp.asarray(policy_table)

    def play(key):
        state, _ = environment.reset(key)
        total, alive = 0.0, True
        for time in range(6):
            action = table[time, state.row, state.column]
            step = environment.step(state, action, jax.random.fold_in(key, time))
            total = total + jnp.where(alive, discount**time * step.reward, 0.0)
            alive = alive & ~step.terminated
            state = step.state
        return total

    returns = np.asarray(jax.jit(jax.vmap(play))(KEYS), float)
    exact = exact_returns(policy_table, config, discount)
    mean, sd = exact.mean[0, 2, 0], exact.sd[0, 2, 0]
    assert abs(returns.mean() - mean) < 4 * sd / np.sqrt(len(KEYS)) + 1e-4
    squares = (returns - mean) ** 2
    assert abs(squares.mean() - sd**2) < 4 * squares.std() / np.sqrt(len(KEYS)) + 1e-4
