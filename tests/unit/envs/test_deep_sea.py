"""Deep sea: its rules by hand, its spaces; `tests/parity` compares it with bsuite's."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from surefoot.envs import deep_sea, deep_sea_render
from surefoot.errors import UserError

KEY = jax.random.key(0)


def always_right(row):
    return row >= 0


def always_left(row):
    return row < 0


def play(config, choose):
    """Rewards, last info and cells of an episode in which `choose(row)` says whether to go right."""
    environment, mapping = deep_sea.make(config), deep_sea.action_mapping(config)
    step = jax.jit(environment.step)
    state, obs = environment.reset(KEY)
    rewards, cells = [], [np.asarray(obs)]
    for row in range(config.size):
        right = mapping[row, int(state.column)]
        found = step(state, jnp.int32(right if choose(row) else 1 - right), KEY)
        state = found.state
        rewards.append(float(found.reward))
        cells.append(np.asarray(found.obs))
        assert bool(found.terminated) == (row == config.size - 1)
    return rewards, found.info, cells


@pytest.mark.parametrize("size", [5, 20, 100])
def test_always_right_finds_the_treasure(size):
    config = deep_sea.Config(size=size)
    rewards, info, cells = play(config, always_right)
    assert sum(rewards) == pytest.approx(0.99, abs=1e-5) == pytest.approx(deep_sea.optimal_return(config))
    np.testing.assert_allclose(rewards[:-1], -0.01 / size, rtol=1e-5)
    assert info["found_treasure"]
    assert not info["strayed"]
    assert [np.argwhere(cell).tolist() for cell in cells[:-1]] == [[[row, row]] for row in range(size)]
    assert not cells[-1].any()  # Below the last row there is nothing.


def test_one_step_to_the_left_is_enough_to_miss_it():
    for wrong in range(6):
        rewards, info, _ = play(deep_sea.Config(size=6), lambda row, wrong=wrong: row != wrong)
        assert sum(rewards) == pytest.approx(-0.01 * 5 / 6, rel=1e-4)
        assert info["strayed"]
        assert not info["found_treasure"]


def test_always_left_costs_nothing():
    rewards, info, cells = play(deep_sea.Config(size=5), always_left)
    assert rewards == [0.0] * 5
    assert info["strayed"]
    assert [np.argwhere(cell)[0, 1] for cell in cells[:-1]] == [0] * 5


def test_the_meaning_of_actions_is_a_coin_per_cell_and_the_seeds():
    mapping = deep_sea.action_mapping(deep_sea.Config(size=100, mapping_seed=1))
    assert abs(mapping.mean() - 0.5) < 4 * 0.5 / 100
    assert np.array_equal(mapping, deep_sea.action_mapping(deep_sea.Config(size=100, mapping_seed=1)))
    assert not np.array_equal(mapping, deep_sea.action_mapping(deep_sea.Config(size=100, mapping_seed=2)))
    assert np.all(deep_sea.action_mapping(deep_sea.Config(randomise_actions=False)) == 1)


def test_in_the_stochastic_game_moves_fail_and_ends_are_noisy():
    size, count = 10, 20_000
    config = deep_sea.Config(size=size, deterministic=False, randomise_actions=False)
    environment = deep_sea.make(config)
    keys = jax.random.split(KEY, count)

    def after(row, column):
        state = deep_sea.State(jnp.int32(row), jnp.int32(column), jnp.zeros((), bool))
        return jax.vmap(lambda key: environment.step(state, jnp.int32(1), key))(keys)

    moved = np.asarray(after(3, 3).state.column) == 4
    assert abs(moved.mean() - 0.9) < 4 * np.sqrt(0.09 / count)
    assert np.asarray(after(3, 3).reward).std() < 1e-7
    for column in (0, size - 1):
        rewards = np.asarray(after(size - 1, column).reward)
        mean = (column == size - 1) - 0.01 / size
        assert abs(rewards.mean() - mean) < 4 / np.sqrt(count)
        assert abs(rewards.std() - 1) < 0.03
    assert np.asarray(after(size - 1, 4).reward).std() < 1e-7


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
def test_gymnasium_accepts_it(mode):
    env = gymnasium.make("surefoot/DeepSea-v0", size=5, render_mode=mode)
    check_env(env.unwrapped, skip_render_check=mode == "ansi")


def test_renders_show_the_diver_the_path_and_the_treasure():
    config = deep_sea.Config(size=4)
    state = deep_sea.State(jnp.int32(1), jnp.int32(0), jnp.zeros((), bool))
    assert deep_sea_render.render_text(state, config) == "+...\n@+..\n..+.\n...$\nrow 1 of 4"
    picture = deep_sea_render.render_pixels(state, config)
    assert picture.shape == (400, 400, 3)
    assert tuple(picture[150, 50]) == deep_sea_render.DIVER_COLOR
    assert tuple(picture[350, 350]) == deep_sea_render.TREASURE_COLOR


@pytest.mark.parametrize("parameters", [{"size": 1}, {"size": 2_000}, {"mapping_seed": -1}])
def test_parameters_outside_their_bounds_are_refused(parameters):
    with pytest.raises(UserError, match="accepted: whole numbers"):
        gymnasium.make("surefoot/DeepSea-v0", **parameters)
