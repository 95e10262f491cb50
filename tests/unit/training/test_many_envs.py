"""Several environments in one run: what is stored, learned, recorded and resumed."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

import surefoot
from surefoot import replay
from surefoot.agents import AGENTS
from surefoot.architectures import mlp_architecture
from surefoot.errors import UserError
from surefoot.runs.log_files import read_episodes, read_metrics
from surefoot.training import compiled_driver, driver, step
from surefoot.types import Environment, EnvironmentStep, Transition
from tests.small_models import CLIFF, QUICK

ENVS = 3
EPISODE = 4


def counting():
    """Observations are the steps so far of an episode of four, and a number that its key decides."""

    def observe(state):
        return jnp.stack([state[0], state[1]]).astype(float)

    def reset(key):
        state = jnp.stack([jnp.zeros((), jnp.int32), jax.random.randint(key, (), 0, 1_000)])
        return state, observe(state)

    def step(state, action, key):
        del action, key
        state = state.at[0].add(1)
        ended = state[0] == EPISODE
        return EnvironmentStep(state, observe(state), state[0].astype(float), ended, jnp.zeros((), bool), {})

    return Environment(reset, step, Box(0, 1_000, (2,)), Discrete(2))


@cache
def made(agent="dqn", **settings):
    """A driver on the counting environment."""
    kind = AGENTS[agent]
    small = {"batch_size": 4, "replay_capacity": 60, "learning_starts": 30, "target_period": 20}
    config = kind.settings(**{**small, "envs": ENVS, **settings})
    agent = kind.make(config, mlp_architecture(2, (4,)), 2, None)
    return compiled_driver.make(agent, counting(), config)


def test_transitions_of_a_batch_are_added_as_if_one_after_the_other():
    def transition(number):
        obs = jnp.full((2,), number, float)
        return Transition(obs, jnp.asarray(number, jnp.int32), jnp.asarray(1.0), jnp.asarray(False), obs)

    one = many = replay.init(5, transition(0))
    for start in (0, 3, 6):
        numbers = range(start, start + 3)
        for number in numbers:
            one = replay.add(one, transition(number))
        many = replay.add_batch(
            many, jax.tree.map(lambda *leaves: jnp.stack(leaves), *map(transition, numbers))
        )
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(many), strict=True):
        np.testing.assert_array_equal(a, b)


def test_the_replay_holds_what_each_environment_did_and_never_a_first_observation_as_a_next_one():
    state = made().init(jax.random.key(0))
    state, record, _ = made().advance(state, 16 * ENVS)
    storage = jax.tree.map(np.asarray, state.train.replay.storage)
    rows = np.arange(16 * ENVS)
    times = rows // ENVS % EPISODE
    np.testing.assert_array_equal(storage.obs[rows, 0], times)
    np.testing.assert_array_equal(storage.next_obs[rows, 0], times + 1)
    np.testing.assert_array_equal(storage.obs[rows, 1], storage.next_obs[rows, 1])
    np.testing.assert_array_equal(storage.terminated[rows], times == EPISODE - 1)
    np.testing.assert_array_equal(storage.action[rows], record.choice.action)
    np.testing.assert_array_equal(record.episode_return, np.cumsum(np.arange(1, EPISODE + 1))[times])
    assert len(set(storage.obs[:ENVS, 1])) == ENVS  # Each has a key of its own.
    assert int(state.train.step) == 16 * ENVS


@pytest.mark.parametrize(
    ("envs", "period", "after_each_round"),
    [
        (1, 1, [1, 1, 1, 1]),
        (3, 1, [3, 3, 3, 3]),
        (4, 8, [0, 1, 0, 1]),
        (3, 2, [1, 2, 1, 2]),
        (1, 2, [0, 1, 0, 1]),
    ],
)
def test_updates_follow_the_period_whatever_the_number_of_environments(envs, period, after_each_round):
    config = AGENTS["dqn"].settings(envs=envs, update_period=period)
    found = [int(step.updates_due(config, number * envs)) for number in range(4)]
    assert found == after_each_round
    assert max(found) <= step.max_updates(config)


def test_as_many_updates_are_made_as_are_due():
    driver = made(envs=4, update_period=2, learning_starts=40)
    state, _, _ = driver.advance(driver.init(jax.random.key(0)), 40)
    assert int(state.train.learner.optimiser.steps) == 0
    state, _, _ = driver.advance(state, 40)
    assert int(state.train.learner.optimiser.steps) == 20


def test_several_updates_draw_different_batches_and_equal_single_ones():
    """Two updates after a round equal an update on each half of what was sampled."""
    kind = AGENTS["dqn"]
    config = kind.settings(envs=2, batch_size=4, replay_capacity=60, learning_starts=2)
    agent = kind.make(config, mlp_architecture(2, (4,)), 2, None)
    driver = compiled_driver.make(agent, counting(), config)
    state, _, _ = driver.advance(driver.init(jax.random.key(0)), 20)
    learner = jax.tree.map(lambda leaf: leaf.copy() if hasattr(leaf, "copy") else leaf, state.train.learner)
    keys = step.step_keys(state.train)
    after, _, _ = driver.advance(state, 2)
    batches = replay.sample(after.train.replay, keys.sample, 8)
    halves = [step.batch_number(config, batches, index) for index in range(2)]
    assert not np.array_equal(halves[0].obs, halves[1].obs)
    for index, half in enumerate(halves):
        learner = agent.update(learner, half, jnp.asarray(22.0), jax.random.fold_in(keys.update, index))
    for a, b in zip(
        jax.tree.leaves(learner.params), jax.tree.leaves(after.train.learner.params), strict=True
    ):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


def test_a_run_cut_in_any_way_ends_the_same():
    driver, ends = made(update_period=2), []
    for pieces in ([60], [3, 27, 30], [30, 15, 15]):
        state = driver.init(jax.random.key(0))
        for piece in pieces:
            state, _, _ = driver.advance(state, piece)
        ends.append([np.asarray(leaf) for leaf in jax.tree.leaves(state.train.learner.params)])
    for other in ends[1:]:
        for a, b in zip(ends[0], other, strict=True):
            np.testing.assert_array_equal(a, b)
    with pytest.raises(ValueError, match="whole multiples of 3"):
        driver.advance(driver.init(jax.random.key(0)), 4)


def test_targets_are_renewed_at_the_first_step_that_all_have_made():
    config = AGENTS["dqn"].settings(envs=64, target_period=100, learning_starts=10)
    renewed = [now for now in range(64, 400, 64) if driver.renews_target(now, config)]
    assert renewed == [128, 256, 320]
    assert driver.next_boundary(64, 10_000, config) == 128


def test_a_run_is_resumed_exactly_and_its_episodes_name_their_environment(tmp_path):
    settings = {**QUICK, "envs": 4, "update_period": 8, "normalise": True, "quantiles": 5}
    schedule = {"log_every": 30, "checkpoint_every": 50, "progress": False}
    whole = surefoot.QRDQN(CLIFF, seed=3, **settings)
    whole.learn(201, out=tmp_path / "whole", **schedule)
    surefoot.QRDQN(CLIFF, seed=3, **settings).learn(90, out=tmp_path / "cut", **schedule)
    surefoot.resume(tmp_path / "cut", 201)
    for name in ("metrics.jsonl", "episodes.csv"):
        assert (tmp_path / "whole" / name).read_text() == (tmp_path / "cut" / name).read_text()
    # Due at every multiple of 30, or as soon after it as all four have made the same number of steps.
    assert [line["step"] for line in read_metrics(tmp_path / "whole")] == [32, 60, 92, 120, 152, 180, 204]
    episodes = read_episodes(tmp_path / "whole")
    assert {each.env for each in episodes} == set(range(4))
    for env in range(4):
        ends = [each.step for each in episodes if each.env == env]
        lengths = [each.length for each in episodes if each.env == env]
        assert np.diff(ends).tolist() == [4 * length for length in lengths[1:]]


@pytest.mark.parametrize(
    ("given", "says"), [({"envs": 0}, "envs: got 0"), ({"envs": 61}, "envs: got 61, accepted: at most")]
)
def test_impossible_numbers_are_refused(given, says):
    with pytest.raises(UserError, match=says):
        surefoot.DQN(CLIFF, **QUICK, **given).learn(10, progress=False)


def test_a_gymnasium_environment_is_played_alone():
    with pytest.raises(UserError, match="envs: got 2, accepted: 1 for a Gymnasium environment"):
        surefoot.DQN("CartPole-v1", envs=2, **QUICK).learn(10, progress=False)
