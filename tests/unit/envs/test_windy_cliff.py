"""The windy cliff: its rules in JAX, and as a Gymnasium environment."""

from dataclasses import replace

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from surefoot.envs import windy_cliff, windy_cliff_for_gymnasium
from surefoot.envs.windy_cliff import DOWN, LEFT, RIGHT, UP, Config
from surefoot.errors import UserError

KEYS = jax.random.split(jax.random.key(0), 20_000)


def follow(actions, config=None, key=KEYS[0]):
    """The steps that follow from taking these actions one after another."""
    environment = windy_cliff.make(config)
    state, _ = environment.reset(key)
    steps = []
    for number, action in enumerate(actions):
        steps.append(environment.step(state, jnp.asarray(action), jax.random.fold_in(key, number)))
        state = steps[-1].state
    return steps


def test_the_return_of_the_safe_path_is_always_4():
    steps = follow([UP, RIGHT, RIGHT, RIGHT, RIGHT, DOWN])
    assert [float(step.reward) for step in steps] == [-1, -1, -1, -1, -1, 9]
    assert [bool(step.terminated) for step in steps] == [False] * 5 + [True]
    assert not any(bool(step.info["fell"]) for step in steps)


def test_stepping_down_from_the_ledge_falls_without_further_reward():
    *_, last = follow([RIGHT, DOWN], Config(wind=0.0))
    assert float(last.reward) == -1
    assert bool(last.terminated)
    assert int(last.info["fall_cause"]) == windy_cliff.FALL_CAUSES.index("step")


def test_moves_off_the_grid_leave_the_agent_in_its_cell():
    for action in (DOWN, LEFT):
        state = follow([action])[0].state
        assert (int(state.row), int(state.column)) == (1, 0)
    assert int(follow([UP, UP])[1].state.row) == 0


def test_wind_blows_only_on_the_ledge_and_with_its_probability():
    environment = windy_cliff.make()
    start, _ = environment.reset(KEYS[0])
    onto_ledge = jax.vmap(lambda key: environment.step(start, jnp.asarray(RIGHT), key))(KEYS)
    fell = np.asarray(onto_ledge.info["fell"])
    assert abs(fell.mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / len(KEYS))
    assert set(np.asarray(onto_ledge.info["fall_cause"])[fell]) == {1}
    np.testing.assert_array_equal(onto_ledge.terminated, fell)
    upwards = jax.vmap(lambda key: environment.step(start, jnp.asarray(UP), key))(KEYS)
    assert not np.any(upwards.info["fell"])


def test_the_time_limit_terminates_because_it_is_part_of_the_task():
    steps = follow([UP] * 15)
    assert [bool(step.terminated) for step in steps] == [False] * 14 + [True]
    assert not any(bool(step.truncated) for step in steps)


def test_the_observation_is_the_cell_and_the_time():
    obs = np.asarray(follow([UP, RIGHT])[1].obs)
    assert obs.shape == (11,)
    assert obs[1] == 1
    assert obs[:10].sum() == 1
    assert obs[10] == 2


def test_the_table_of_observations_agrees_with_the_environment():
    table = windy_cliff.observations()
    for time, step in enumerate(follow([UP, RIGHT, RIGHT]), start=1):
        state = step.state
        np.testing.assert_array_equal(table[time, int(state.row), int(state.column)], step.obs)


FAR = Config(far_columns=4)


def test_nobody_gets_from_the_near_part_into_the_far_one():
    environment = windy_cliff.make(FAR)
    for row, column, action in np.ndindex(2, 5, 4):
        state = windy_cliff.State(*(jnp.asarray(each, jnp.int32) for each in (row, 4 + column, 3)))
        assert int(environment.step(state, jnp.asarray(action), KEYS[0]).state.column) >= 4
    far = follow([RIGHT, LEFT, UP, *[RIGHT] * 5], replace(FAR, far_starts=1.0))
    assert [int(step.state.column) for step in far] == [1, 0, 0, 1, 2, 3, 4, 5]


def test_wind_is_that_of_the_part_and_the_cell_between_the_two_has_none():
    environment = windy_cliff.make(FAR)

    def falls(column):
        state = windy_cliff.State(*(jnp.asarray(each, jnp.int32) for each in (1, column, 0)))
        step = jax.vmap(lambda key: environment.step(state, jnp.asarray(RIGHT), key))(KEYS)
        return np.asarray(step.info["fell"]).mean()

    for column, wind in ((0, 0.3), (2, 0.3), (3, 0.0), (4, 0.05), (6, 0.05), (7, 0.0)):
        assert abs(falls(column) - wind) <= 4 * np.sqrt(wind * (1 - wind) / len(KEYS)), column


def test_episodes_start_far_with_their_probability():
    for far_starts in (0.0, 0.25, 1.0):
        environment = windy_cliff.make(Config(far_columns=4, far_starts=far_starts))
        columns = np.asarray(jax.vmap(environment.reset)(KEYS)[0].column)
        assert set(columns) <= {0, 4}
        error = 4 * np.sqrt(far_starts * (1 - far_starts) / len(KEYS))
        assert abs(np.mean(columns == 0) - far_starts) <= error


@pytest.mark.parametrize(
    ("config", "expected"), [(Config(), 4), (FAR, 4), (Config(far_columns=4, far_starts=1.0), 0)]
)
def test_the_safe_policy_reaches_the_goal_without_a_fall(config, expected):
    environment = windy_cliff.make(config)
    state, obs = environment.reset(KEYS[0])
    total, done = 0.0, False
    while not done:
        step = environment.step(state, jnp.asarray(windy_cliff.safe_action(np.asarray(obs))), KEYS[1])
        state, obs, done = step.state, step.obs, bool(step.terminated)
        total += float(step.reward)
        assert not windy_cliff.is_ledge((int(state.row), int(state.column)), config)
    assert total == expected


def test_the_table_of_observations_has_the_far_part_too():
    table = windy_cliff.observations(FAR)
    assert table.shape == (15, 2, 9, 19)
    _, obs = windy_cliff.make(FAR).reset(KEYS[0])
    np.testing.assert_array_equal(table[0, 1, 4], obs)


@pytest.mark.parametrize(
    "wrong",
    [
        *({"rows": 1}, {"columns": 2}, {"time_limit": 0}, {"wind": 1.5}, {"wind": -0.1}),
        *({"far_wind": 2.0}, {"far_columns": 1}, {"far_columns": -2}, {"far_starts": 0.5}),
        {"far_columns": 4, "far_starts": 1.5},
    ],
)
def test_parameters_outside_their_bounds_are_refused(wrong):
    with pytest.raises(UserError, match="accepted"):
        Config(**wrong)


@pytest.fixture
def environment():
    return gymnasium.make("surefoot/WindyCliff-v0", render_mode="rgb_array")


def test_the_gymnasium_environment_passes_the_checker(environment):
    check_env(environment.unwrapped)


def test_the_info_of_the_gymnasium_environment_names_the_cause_of_a_fall():
    environment = gymnasium.make("surefoot/WindyCliff-v0", wind=1.0)
    environment.reset(seed=0)
    _, reward, terminated, truncated, info = environment.step(RIGHT)
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert info == {"fell": True, "fall_cause": "wind"}
    assert isinstance(info["fell"], bool)
    calm = gymnasium.make("surefoot/WindyCliff-v0", wind=0.0)
    calm.reset(seed=0)
    assert calm.step(RIGHT)[4] == {"fell": False, "fall_cause": ""}
    assert calm.step(DOWN)[4] == {"fell": True, "fall_cause": "step"}


def test_a_seed_fixes_an_episode_and_all_later_ones():
    def falls(seed):
        environment = gymnasium.make("surefoot/WindyCliff-v0", wind=0.5)
        environment.reset(seed=seed)
        fell = []
        for _ in range(30):
            fell.append(environment.step(RIGHT)[2])
            environment.reset()
        return fell

    assert falls(1) == falls(1)
    assert falls(1) != falls(2)


def test_parameters_of_the_gymnasium_environment_can_be_set():
    environment = gymnasium.make("surefoot/WindyCliff-v0", rows=3, columns=6, time_limit=4, step_reward=-2.0)
    obs, _ = environment.reset(seed=0)
    assert obs.shape == (19,)
    assert environment.step(UP)[1] == -2.0


def test_an_action_outside_the_action_space_is_refused(environment):
    environment.reset(seed=0)
    with pytest.raises(UserError, match=r"action: got 7, accepted: Discrete\(4\)"):
        environment.unwrapped.step(7)


def test_an_unknown_render_mode_is_refused():
    with pytest.raises(UserError, match="render_mode: got human, accepted: rgb_array, ansi"):
        windy_cliff_for_gymnasium(render_mode="human")
