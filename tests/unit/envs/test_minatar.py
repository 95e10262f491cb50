"""MinAtar as environments in JAX: spaces, probabilities, renders; `tests/parity` compares the rules."""

import subprocess
import sys
from functools import cache

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import surefoot
from surefoot.envs import MINATAR_IDS, minatar
from surefoot.errors import UserError

GAMES = list(minatar.CHANNELS)
DRAWS = 20_000


def assert_frequencies(outcomes, expected):
    """Each outcome is as frequent as expected, within five standard errors."""
    for value, probability in expected.items():
        error = np.sqrt(probability * (1 - probability) / len(outcomes))
        assert abs(np.mean(np.asarray(outcomes) == value) - probability) < 5 * error, value


@cache
def compiled(game):
    """Reset and step of a game, compiled once for all tests."""
    environment = minatar.make(game)
    return jax.jit(environment.reset), jax.jit(environment.step)


def many_steps(game, state, action, sticky_action_prob=0.1):
    """What one action in one state leads to, with many different keys."""
    step = minatar.make(game, sticky_action_prob=sticky_action_prob).step
    keys = jax.random.split(jax.random.key(0), DRAWS)
    # The state is an argument, because XLA takes long to fold constants.
    return jax.jit(lambda state, keys: jax.lax.map(lambda key: step(state, jnp.int32(action), key), keys))(
        state, keys
    )


def many_resets(game):
    keys = jax.random.split(jax.random.key(0), DRAWS)
    return jax.jit(lambda keys: jax.lax.map(minatar.make(game).reset, keys))(keys)


def first_state(game, **changes):
    reset, _ = compiled(game)
    state, _ = reset(jax.random.key(0))
    return {**state, **{name: jnp.asarray(value, state[name].dtype) for name, value in changes.items()}}


def test_a_game_may_be_made_while_a_function_is_traced():
    """In a process of its own: what is made first in a trace must be of use outside of it."""
    code = """
import jax
from surefoot.envs import minatar
first = jax.jit(lambda key: minatar.make("freeway").reset(key)[1])(jax.random.key(0))
assert (minatar.make("freeway").reset(jax.random.key(0))[1] == first).all()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("game", GAMES)
def test_observations_and_actions_fit_the_spaces(game):
    environment = minatar.make(game)
    reset, step = compiled(game)
    state, obs = reset(jax.random.key(0))
    assert environment.action_space.n == 6
    assert environment.observation_space.shape == (10, 10, len(minatar.CHANNELS[game]))
    for i, key in enumerate(jax.random.split(jax.random.key(1), 50)):
        assert environment.observation_space.contains(np.asarray(obs))
        state, obs, reward, terminated, truncated, info = step(state, jnp.int32(i % 6), key)
        assert reward >= 0
        assert not truncated
        assert info == {}
        if terminated:
            state, obs = reset(key)


@pytest.mark.parametrize("game", GAMES)
def test_gymnasium_accepts_a_game_and_its_render_has_one_colour_per_visible_channel(game):
    env = gymnasium.make(MINATAR_IDS[game], render_mode="rgb_array")
    check_env(env.unwrapped, skip_render_check=True)
    obs, _ = env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (240, 240, 3)
    colors = {tuple(color) for color in picture[12::24, 12::24].reshape(-1, 3)}
    visible_channels = {max(np.flatnonzero(cell), default=None) for cell in obs.reshape(100, -1)}
    assert len(colors) == len(visible_channels)
    env.close()


def test_colours_are_distinct():
    assert len(np.unique(minatar.COLORS, axis=0)) == max(map(len, minatar.CHANNELS.values()))
    assert tuple(minatar.BACKGROUND) not in {tuple(color) for color in minatar.COLORS}


def test_one_action_in_ten_repeats_the_action_before_it():
    state = first_state("breakout", _last_action=1, _pos=4)
    assert_frequencies(many_steps("breakout", state, 3).state["_pos"], {3: 0.1, 5: 0.9})
    never_sticky = many_steps("breakout", state, 3, sticky_action_prob=0.0)
    assert np.all(never_sticky.state["_pos"] == 5)


def test_the_ball_of_breakout_starts_left_or_right():
    state, _ = many_resets("breakout")
    assert_frequencies(state["_ball_x"], {0: 0.5, 9: 0.5})


def test_cars_of_freeway_have_any_speed_and_direction():
    state, _ = many_resets("freeway")
    for lane in range(8):
        speeds = state["_cars"][:, lane, 3]
        assert_frequencies(speeds, {sign * speed: 0.1 for sign in (-1, 1) for speed in range(1, 6)})


def test_freeway_terminates_after_2500_steps():
    _, step = compiled("freeway")
    last = first_state("freeway", _terminate_timer=0)
    assert bool(step(last, jnp.int32(0), jax.random.key(0)).terminated)
    last_but_one = first_state("freeway", _terminate_timer=1)
    assert not bool(step(last_but_one, jnp.int32(0), jax.random.key(0)).terminated)
    assert int(first_state("freeway")["_terminate_timer"]) == 2_500


def test_asterix_spawns_gold_or_enemies_in_free_rows():
    state = first_state("asterix", _spawn_timer=0)
    taken = state["_entities"].at[:5].set(jnp.array([3, 1, 1, 0], jnp.int32))
    entities = many_steps("asterix", {**state, "_entities": taken}, 0).state["_entities"]
    new = np.asarray(entities[:, 5:, 0] != 99)
    assert np.all(new.sum(axis=1) == 1)
    assert_frequencies(np.argmax(new, axis=1), {0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    spawned = np.asarray(entities[:, 5:])[new]
    assert_frequencies(spawned[:, 2], {0: 0.5, 1: 0.5})
    assert_frequencies(spawned[:, 3], {0: 2 / 3, 1: 1 / 3})


def test_seaquest_spawns_fish_submarines_and_divers_in_any_row():
    state = first_state("seaquest", _e_spawn_timer=0, _d_spawn_timer=0)
    after = many_steps("seaquest", state, 0).state
    fish, subs, divers = (np.asarray(after[name][:, 0]) for name in ("_e_fish", "_e_subs", "_divers"))
    is_sub = subs[:, 0] != -1
    assert_frequencies(is_sub, {True: 1 / 3, False: 2 / 3})
    enemy = np.where(is_sub[:, None], subs[:, :3], fish[:, :3])
    for spawned in (enemy, divers):
        assert_frequencies(spawned[:, 1], dict.fromkeys(range(1, 9), 1 / 8))
        assert_frequencies(spawned[:, 2], {0: 0.5, 1: 0.5})


@pytest.mark.slow
def test_a_saved_model_continues_exactly(tmp_path):
    small = {"batch_size": 4, "learning_starts": 20, "target_period": 10, "replay_capacity": 60}
    uninterrupted = surefoot.QRDQN(MINATAR_IDS["seaquest"], seed=3, **small).learn(50, progress=False)
    interrupted = surefoot.QRDQN(MINATAR_IDS["seaquest"], seed=3, **small).learn(33, progress=False)
    interrupted.save(tmp_path / "model")
    continued = surefoot.load(tmp_path / "model").learn(17, progress=False)
    obs = np.zeros((10, 10, 10), bool)
    np.testing.assert_array_equal(uninterrupted.beliefs(obs).quantiles, continued.beliefs(obs).quantiles)
    assert uninterrupted.spec.driver == "compiled"
    assert uninterrupted.spec.preset == "minatar"


def test_mistakes_are_one_line(monkeypatch):
    with pytest.raises(UserError, match="game: got pong, accepted: asterix, breakout"):
        minatar.make("pong")
    with pytest.raises(UserError, match="sticky_action_prob: got 2, accepted: numbers from 0 to 1"):
        minatar.make("breakout", sticky_action_prob=2)
    monkeypatch.setattr(minatar, "find_spec", lambda _: None)
    with pytest.raises(
        UserError, match=r"env: MinAtar needs the package pgx, .*: pip install 'surefoot\[minatar\]'"
    ):
        minatar.make("breakout", sticky_action_prob=0.125)
