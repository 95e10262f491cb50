"""The hosted driver: episodes of a Gymnasium environment, faults, stops, restarts, replayed episodes."""

from functools import cache

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from surefoot.agents import AGENTS
from surefoot.architectures import architecture_for
from surefoot.envs.checked import CheckedEnv, make_env
from surefoot.training import hosted_driver
from surefoot.training.episode_seeds import Stream, episode_seed
from tests.small_models import quick_with

KEY = jax.random.key(0)


class Corridor(gymnasium.Env):
    """Reward 1 for ever; a time limit cuts episodes off after two steps, or a fault comes at some step."""

    observation_space = Box(0, 1, (1,))
    action_space = Discrete(2)

    def __init__(self, fails_at=None, terminates=False):
        self.total, self.fails_at, self.terminates, self.seeds = 0, fails_at, terminates, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.time = 0
        self.seeds.append(seed)
        return np.ones(1, np.float32), {}

    def step(self, action):
        del action
        self.time, self.total = self.time + 1, self.total + 1
        obs = np.full(1, np.nan if self.total == self.fails_at else 1, np.float32)
        over = self.time == 2
        return (
            obs,
            1.0,
            over and self.terminates,
            over and not self.terminates,
            {"odd": self.time == 1, "n": 3},
        )


def driver_of(env, name="dqn", seed=0, **settings):
    environment = CheckedEnv(env, "corridor")
    agent, config = agent_of(name, environment.observation_space.shape, tuple(settings.items()))
    return hosted_driver.make(agent, environment, config, seed)


@cache
def agent_of(name, shape, settings):
    """One agent for equal settings, so that its programs are compiled once."""
    kind = AGENTS[name]
    small = {"batch_size": 8, "replay_capacity": 60, "learning_starts": 40, "target_period": 25}
    config = kind.settings(**{**small, **dict(settings)})
    return kind.make(config, architecture_for(Box(-1, 1, shape), "mlp:8"), 2, None), config


def are_equal(one, other):
    return all(
        np.array_equal(np.asarray(a), np.asarray(b), equal_nan=True)
        for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )


def test_time_limit_still_bootstraps():
    """Worth 1 / (1 - discount) = 2, though no episode pays more than 2 rewards at once."""
    driver = driver_of(Corridor(), discount=0.5, learning_rate=1e-2, replay_capacity=500)
    state, record, _ = driver.advance(driver.init(KEY), 1_500)
    np.testing.assert_array_equal(record.done, np.arange(1_500) % 2 == 1)
    assert not np.any(record.terminated)
    np.testing.assert_allclose(state.train.learner.params(jnp.ones(1)), 2, atol=0.1)


def test_termination_does_not():
    driver = driver_of(Corridor(terminates=True), discount=0.5, learning_rate=1e-2, replay_capacity=500)
    state, record, _ = driver.advance(driver.init(KEY), 1_500)
    np.testing.assert_array_equal(record.terminated, record.done)
    # Both states look alike, one worth 1 and one worth 1 + 0.5 of what follows: the mean is 4 / 3.
    value = np.asarray(state.train.learner.params(jnp.ones(1)))
    np.testing.assert_allclose(value, 4 / 3, atol=0.15)


def test_booleans_in_info_are_events():
    driver = driver_of(Corridor())
    _, record, _ = driver.advance(driver.init(KEY), 10)
    assert set(record.info) == {"odd"}
    np.testing.assert_array_equal(record.info["odd"], np.arange(10) % 2 == 0)


def test_each_episode_has_a_seed_of_its_own_from_the_runs_seed_and_its_number():
    env = Corridor()
    driver = driver_of(env, seed=5)
    driver.advance(driver.init(KEY), 7)
    assert env.seeds == [episode_seed(5, Stream.TRAINING, number) for number in range(4)]
    assert len(set(env.seeds)) == 4


@pytest.mark.parametrize("fails_at", [1, 17, 40, 41, 100])
def test_a_fault_ends_the_run_before_that_step_and_nothing_bad_is_kept(fails_at):
    driver = driver_of(Corridor(fails_at=fails_at))
    state, record, fault = driver.advance(driver.init(KEY), 150)
    assert "corridor, episode" in str(fault)
    assert "NaN" in str(fault)
    steps = 0 if record is None else len(record.reward)
    assert steps == int(state.train.step) == int(state.train.replay.added) == fails_at - 1
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(state.train.replay.storage))
    # After a restart, it goes on.
    state, record, fault = driver.advance(driver.restart(state), 20)
    assert fault is None
    assert int(state.train.step) == fails_at + 19


@pytest.mark.parametrize("name", quick_with("uadqn"))
def test_a_run_cut_in_any_way_ends_the_same(name):
    ends = []
    for pieces in ([130], [40, 90], [1] * 20 + [110]):
        driver = driver_of(make_env("CartPole-v1"), name)
        state = driver.init(KEY)
        for piece in pieces:
            state = driver.advance(state, piece).state
        ends.append((state.train.learner, state.train.replay, state.episode))
    assert are_equal(ends[0], ends[1])
    assert are_equal(ends[0], ends[2])


def test_a_stop_takes_effect_after_the_step_under_way():
    driver = driver_of(Corridor())
    answers = iter([False] * 12 + [True])
    state, record, fault = driver.advance(driver.init(KEY), 100, lambda: next(answers))
    assert (len(record.reward), int(state.train.step), fault) == (13, 13, None)


def test_an_episode_is_played_again_up_to_the_same_step():
    driver = driver_of(make_env("CartPole-v1"))
    state, _, _ = driver.advance(driver.init(KEY), 57)
    whole, _, _ = driver.advance(jax.tree.map(lambda leaf: leaf, state), 30)
    again = driver_of(make_env("CartPole-v1"))
    halfway, _, _ = again.advance(again.init(KEY), 57)
    third = driver_of(make_env("CartPole-v1"))
    resumed, _, _ = third.advance(third.reopen(halfway), 30)
    assert are_equal(whole.train.learner, resumed.train.learner)
    assert are_equal(whole.train.obs, resumed.train.obs)


class Unseeded(Corridor):
    """Its randomness does not follow the seed."""

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return np.random.default_rng().uniform(size=1).astype(np.float32), {}


def test_an_episode_that_comes_out_differently_is_reported_and_a_new_one_begins():
    driver = driver_of(Unseeded())
    state, _, _ = driver.advance(driver.init(KEY), 5)
    number = state.episode.number
    with pytest.warns(UserWarning, match="episode 2 came out differently when it was played again"):
        state = driver.reopen(state)
    assert state.episode.number == number + 1
    assert state.episode.actions == []
    assert int(state.train.episode.length) == 0


def test_no_two_streams_share_their_seeds():
    streams = {
        tuple(episode_seed(seed, stream, episode) for episode in range(2))
        for seed in range(50)
        for stream in range(16)
    }
    assert len(streams) == 800
