"""The windy cliff: rules, exact values, and the Gymnasium environment made from it."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import surefoot  # noqa: F401 (registers the environment)
from surefoot.envs import windy_cliff, windy_cliff_exact
from surefoot.envs.windy_cliff import DOWN, LEFT, RIGHT, UP, Config
from surefoot.errors import UserError

KEYS = jax.random.split(jax.random.key(0), 20_000)
RISKY = np.full((15, 2, 5), RIGHT)
SAFE = RISKY.copy()
SAFE[:, 1, 0], SAFE[:, 0, 4] = UP, DOWN


def follow(actions, config=None, key=KEYS[0]):
    """What comes of taking these actions one after another."""
    environment = windy_cliff.make(config)
    state, _ = environment.reset(key)
    found = []
    for number, action in enumerate(actions):
        found.append(environment.step(state, jnp.asarray(action), jax.random.fold_in(key, number)))
        state = found[-1].state
    return found


def test_the_safe_path_always_returns_4():
    found = follow([UP, RIGHT, RIGHT, RIGHT, RIGHT, DOWN])
    assert [float(each.reward) for each in found] == [-1, -1, -1, -1, -1, 9]
    assert [bool(each.terminated) for each in found] == [False] * 5 + [True]
    assert not any(bool(each.info["fell"]) for each in found)


def test_stepping_down_from_the_ledge_falls_without_further_reward():
    found = follow([RIGHT, DOWN], Config(wind=0.0))
    assert float(found[-1].reward) == -1
    assert bool(found[-1].terminated)
    assert int(found[-1].info["fall_cause"]) == windy_cliff.FALL_CAUSES.index("step")


def test_walls_hold_at_start_and_edges():
    for action in (DOWN, LEFT):
        state = follow([action])[0].state
        assert (int(state.row), int(state.column)) == (1, 0)
    assert int(follow([UP, UP])[1].state.row) == 0


def test_wind_blows_on_the_ledge_only_and_as_often_as_it_says():
    environment = windy_cliff.make()
    start, _ = environment.reset(KEYS[0])
    onto_ledge = jax.vmap(lambda key: environment.step(start, jnp.asarray(RIGHT), key))(KEYS)
    fell = np.asarray(onto_ledge.info["fell"])
    assert abs(fell.mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / len(KEYS))
    assert set(np.asarray(onto_ledge.info["fall_cause"])[fell]) == {1}
    np.testing.assert_array_equal(onto_ledge.terminated, fell)
    upwards = jax.vmap(lambda key: environment.step(start, jnp.asarray(UP), key))(KEYS)
    assert not np.any(upwards.info["fell"])


def test_time_runs_out_as_a_part_of_the_task():
    found = follow([UP] * 15)
    assert [bool(each.terminated) for each in found] == [False] * 14 + [True]
    assert not any(bool(each.truncated) for each in found)


def test_observation_is_the_place_and_the_time():
    obs = np.asarray(follow([UP, RIGHT])[1].obs)
    assert obs.shape == (11,)
    assert obs[1] == 1
    assert obs[:10].sum() == 1
    assert obs[10] == 2


def test_table_of_observations_agrees_with_the_environment():
    table = windy_cliff.observations()
    for time, found in enumerate(follow([UP, RIGHT, RIGHT]), start=1):
        state = found.state
        np.testing.assert_array_equal(table[time, int(state.row), int(state.column)], found.obs)


def test_exact_returns_of_both_paths():
    risky, safe = windy_cliff_exact.exact_returns(RISKY), windy_cliff_exact.exact_returns(SAFE)
    assert risky.mean[0, 1, 0] == pytest.approx(4.863875)
    assert risky.sd[0, 1, 0] ** 2 == pytest.approx(7.854345, rel=1e-6)
    assert safe.mean[0, 1, 0] == 4
    assert safe.sd[0, 1, 0] == 0
    assert windy_cliff_exact.path_kind(RISKY) == "risky"
    assert windy_cliff_exact.path_kind(SAFE) == "safe"
    assert windy_cliff_exact.path_kind(np.full((15, 2, 5), UP)) == "none"
    assert windy_cliff_exact.path_kind(np.where(np.arange(5) == 1, DOWN, RISKY)) == "none"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("discount", [1.0, 0.9])
def test_exact_returns_agree_with_simulation_for_any_plan_and_any_cliff(seed, discount):
    config = Config(rows=3, columns=4, wind=0.3, goal_reward=7.0, fall_reward=-2.0, time_limit=6)
    rng = np.random.default_rng(seed)
    plan = rng.integers(0, 4, size=(6, 3, 4))
    plan[:, -1, 0], plan[:, -1, 1] = RIGHT, rng.choice([RIGHT, UP])
    environment = windy_cliff.make(config)
    table = jnp.asarray(plan)

    def play(key):
        state, _ = environment.reset(key)
        gain, alive = 0.0, True
        for time in range(6):
            action = table[time, state.row, state.column]
            found = environment.step(state, action, jax.random.fold_in(key, time))
            gain = gain + jnp.where(alive, discount**time * found.reward, 0.0)
            alive = alive & ~found.terminated
            state = found.state
        return gain

    gains = np.asarray(jax.jit(jax.vmap(play))(KEYS), float)
    exact = windy_cliff_exact.exact_returns(plan, config, discount)
    mean, sd = exact.mean[0, 2, 0], exact.sd[0, 2, 0]
    assert abs(gains.mean() - mean) < 4 * sd / np.sqrt(len(KEYS)) + 1e-4
    squares = (gains - mean) ** 2
    assert abs(squares.mean() - sd**2) < 4 * squares.std() / np.sqrt(len(KEYS)) + 1e-4


@pytest.mark.parametrize(
    "wrong", [{"rows": 1}, {"columns": 2}, {"time_limit": 0}, {"wind": 1.5}, {"wind": -0.1}]
)
def test_impossible_cliffs_are_refused(wrong):
    with pytest.raises(UserError, match="accepted"):
        Config(**wrong)


@pytest.fixture
def environment():
    return gymnasium.make("surefoot/WindyCliff-v0", render_mode="rgb_array")


def test_gymnasium_environment_passes_the_checker(environment):
    check_env(environment.unwrapped)


def test_gymnasium_environment_tells_how_it_fell():
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


def test_a_seed_fixes_an_episode_and_those_that_follow():
    def falls(seed):
        environment = gymnasium.make("surefoot/WindyCliff-v0", wind=0.5)
        environment.reset(seed=seed)
        found = []
        for _ in range(30):
            found.append(environment.step(RIGHT)[2])
            environment.reset()
        return found

    assert falls(1) == falls(1)
    assert falls(1) != falls(2)


def test_every_parameter_can_be_set():
    environment = gymnasium.make("surefoot/WindyCliff-v0", rows=3, columns=6, time_limit=4, step_reward=-2.0)
    obs, _ = environment.reset(seed=0)
    assert obs.shape == (19,)
    assert environment.step(UP)[1] == -2.0


def test_renders_show_the_agent(environment):
    environment.reset(seed=0)
    picture = environment.render()
    assert picture.dtype == np.uint8
    assert picture.shape == (96, 240, 3)
    agent = np.all(picture == windy_cliff.AGENT_COLOR, axis=-1)
    rows, columns = np.nonzero(agent)
    assert rows.min() >= 48
    assert columns.max() < 48
    text = gymnasium.make("surefoot/WindyCliff-v0", render_mode="ansi")
    text.reset(seed=0)
    assert text.render() == ".....\n@~~~G\ntime 0 of 15"


def test_an_impossible_action_is_refused(environment):
    environment.reset(seed=0)
    with pytest.raises(UserError, match=r"action: got 7, accepted: Discrete\(4\)"):
        environment.unwrapped.step(7)


def test_an_unknown_render_mode_is_refused():
    from surefoot.envs import windy_cliff_for_gymnasium

    with pytest.raises(UserError, match="render_mode: got human, accepted: rgb_array, ansi"):
        windy_cliff_for_gymnasium(render_mode="human")
