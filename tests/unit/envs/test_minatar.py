"""MinAtar through our contract: spaces, chance, pictures. Its rules are compared in `tests/parity`."""

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
    """Within five standard errors of what they should be."""
    for value, chance in expected.items():
        error = np.sqrt(chance * (1 - chance) / len(outcomes))
        assert abs(np.mean(np.asarray(outcomes) == value) - chance) < 5 * error, value


def many_steps(game, state, action, seed=0):
    """What one action leads to, many times over."""
    step = minatar.make(game).step
    keys = jax.random.split(jax.random.key(seed), DRAWS)
    return jax.jit(jax.vmap(lambda key: step(state, jnp.int32(action), key)))(keys)


def first_state(game, **changes):
    state, _ = minatar.make(game).reset(jax.random.key(0))
    return {**state, **{name: jnp.asarray(value, state[name].dtype) for name, value in changes.items()}}


@pytest.mark.parametrize("game", GAMES)
def test_an_episode_fits_the_spaces(game):
    environment = minatar.make(game)
    reset, step = jax.jit(environment.reset), jax.jit(environment.step)
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
def test_gymnasium_accepts_it_and_shows_it_in_colours(game):
    env = gymnasium.make(MINATAR_IDS[game], render_mode="rgb_array")
    check_env(env.unwrapped, skip_render_check=True)
    obs, _ = env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (240, 240, 3)
    shown = {tuple(color) for color in picture[12::24, 12::24].reshape(-1, 3)}
    top = [max(np.flatnonzero(cell), default=None) for cell in obs.reshape(100, -1)]
    assert len(shown) == len(set(top))
    env.close()


def test_colours_are_distinct():
    assert len(np.unique(minatar.COLORS, axis=0)) == max(map(len, minatar.CHANNELS.values()))
    assert tuple(minatar.BACKGROUND) not in {tuple(color) for color in minatar.COLORS}


def test_one_action_in_ten_is_the_one_before():
    found = many_steps("breakout", first_state("breakout", _last_action=1, _pos=4), 3)
    assert_frequencies(found.state["_pos"], {3: 0.1, 5: 0.9})
    calm = minatar.make("breakout", sticky_action_prob=0.0)
    state = first_state("breakout", _last_action=1, _pos=4)
    assert all(calm.step(state, jnp.int32(3), jax.random.key(i)).state["_pos"] == 5 for i in range(5))


def test_breakout_begins_left_or_right():
    keys = jax.random.split(jax.random.key(0), DRAWS)
    state, _ = jax.vmap(minatar.make("breakout").reset)(keys)
    assert_frequencies(state["_ball_x"], {0: 0.5, 9: 0.5})


def test_freeways_cars_have_any_speed_and_direction():
    keys = jax.random.split(jax.random.key(0), DRAWS)
    state, _ = jax.vmap(minatar.make("freeway").reset)(keys)
    for lane in range(8):
        speeds = state["_cars"][:, lane, 3]
        assert_frequencies(speeds, {sign * speed: 0.1 for sign in (-1, 1) for speed in range(1, 6)})


def test_freeway_ends_by_itself():
    late = first_state("freeway", _terminate_timer=0)
    step = minatar.make("freeway").step
    assert bool(step(late, jnp.int32(0), jax.random.key(0)).terminated)
    early = first_state("freeway", _terminate_timer=1)
    assert not bool(step(early, jnp.int32(0), jax.random.key(0)).terminated)
    assert int(first_state("freeway")["_terminate_timer"]) == 2_500


def test_asterix_spawns_gold_or_enemies_in_free_rows():
    state = first_state("asterix", _spawn_timer=0)
    taken = state["_entities"].at[:5].set(jnp.array([3, 1, 1, 0], jnp.int32))
    found = many_steps("asterix", {**state, "_entities": taken}, 0).state["_entities"]
    new = np.asarray(found[:, 5:, 0] != 99)
    assert np.all(new.sum(axis=1) == 1)
    assert_frequencies(np.argmax(new, axis=1), {0: 1 / 3, 1: 1 / 3, 2: 1 / 3})
    entity = np.asarray(found[:, 5:])[new]
    assert_frequencies(entity[:, 2], {0: 0.5, 1: 0.5})
    assert_frequencies(entity[:, 3], {0: 2 / 3, 1: 1 / 3})


def test_seaquest_spawns_fish_submarines_and_divers_anywhere():
    state = first_state("seaquest", _e_spawn_timer=0, _d_spawn_timer=0)
    found = many_steps("seaquest", state, 0).state
    fish, subs, divers = (np.asarray(found[name][:, 0]) for name in ("_e_fish", "_e_subs", "_divers"))
    is_sub = subs[:, 0] != -1
    assert_frequencies(is_sub, {True: 1 / 3, False: 2 / 3})
    enemy = np.where(is_sub[:, None], subs[:, :3], fish[:, :3])
    for thing in (enemy, divers):
        assert_frequencies(thing[:, 1], dict.fromkeys(range(1, 9), 1 / 8))
        assert_frequencies(thing[:, 2], {0: 0.5, 1: 0.5})


def test_a_model_learns_saves_and_goes_on_the_same(tmp_path):
    quick = {"batch_size": 4, "learning_starts": 20, "target_period": 10, "replay_capacity": 60}
    whole = surefoot.QRDQN(MINATAR_IDS["seaquest"], seed=3, **quick).learn(50, progress=False)
    cut = surefoot.QRDQN(MINATAR_IDS["seaquest"], seed=3, **quick).learn(33, progress=False)
    cut.save(tmp_path / "cut")
    again = surefoot.load(tmp_path / "cut").learn(17, progress=False)
    obs = np.zeros((10, 10, 10), bool)
    np.testing.assert_array_equal(whole.beliefs(obs).quantiles, again.beliefs(obs).quantiles)
    assert whole.spec.driver == "compiled"
    assert whole.spec.preset == "minatar"


def test_mistakes_are_one_line(monkeypatch):
    with pytest.raises(UserError, match="game: got pong, accepted: asterix, breakout"):
        minatar.make("pong")
    with pytest.raises(UserError, match="sticky_action_prob: got 2, accepted: numbers from 0 to 1"):
        minatar.make("breakout", sticky_action_prob=2)
    monkeypatch.setattr(minatar, "find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"MinAtar needs pgx, accepted: pip install 'surefoot\[minatar\]'"):
        minatar.make("breakout", sticky_action_prob=0.125)
