"""The compiled driver: the same run however it is cut, other runs for other seeds, no replay copied."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from surefoot.agents import AGENTS
from surefoot.architectures import mlp_architecture
from surefoot.envs import windy_cliff
from surefoot.training import compiled_driver
from surefoot.training.step import LOSS_KEY, RESTART_KEY, restart_key
from surefoot.types import Environment, EnvironmentStep
from tests.small_models import quick_with

SMALL = {
    "learning_rate": 1e-3,
    "batch_size": 8,
    "replay_capacity": 60,
    "learning_starts": 40,
    "target_period": 25,
}


def driver_of(name, environment=None, **settings):
    kind = AGENTS[name]
    environment = environment or windy_cliff.make()
    config = kind.settings(**{**SMALL, **settings})
    (inputs,) = environment.observation_space.shape
    agent = kind.make(config, mlp_architecture(inputs, (8,)), int(environment.action_space.n), None)
    return compiled_driver.make(agent, environment, config)


@pytest.fixture(scope="module", params=quick_with("uadqn"))
def driver(request):
    return driver_of(request.param)


def leaves(tree):
    keys_as_data = jax.tree.map(
        lambda leaf: (
            jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf
        ),
        tree,
    )
    return [np.asarray(leaf) for leaf in jax.tree.leaves(keys_as_data)]


def are_equal(one, other):
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(leaves(one), leaves(other), strict=True))


def advanced(driver, pieces, seed=0):
    state = driver.init(jax.random.key(seed))
    records = []
    for piece in pieces:
        state, record, _ = driver.advance(state, piece)
        records.append(record)
    return state, jax.tree.map(lambda *parts: np.concatenate(parts), *records)


def test_a_run_cut_in_any_way_ends_the_same_bit_for_bit(driver):
    whole = advanced(driver, [150])
    for pieces in ([40, 110], [1] * 20 + [130], [39, 2, 9, 50, 25, 25]):
        assert are_equal(advanced(driver, pieces), whole)


def test_no_steps_are_refused():
    driver = driver_of("dqn")
    with pytest.raises(ValueError, match="count: got 0"):
        driver.advance(driver.init(jax.random.key(0)), 0)


def test_seeds_give_different_networks_and_streams(driver):
    one, other = (driver.init(jax.random.key(seed)) for seed in (0, 1))
    assert not are_equal(one.train.learner.params, other.train.learner.params)
    records = [advanced(driver, [60], seed)[1] for seed in (0, 1)]
    assert not np.array_equal(records[0].choice.action, records[1].choice.action)


def test_learning_begins_when_it_should_and_not_before(driver):
    before, state = driver.init(jax.random.key(0)), driver.init(jax.random.key(0))
    state, _, _ = driver.advance(state, 40)
    assert are_equal(state.train.learner.params, before.train.learner.params)
    state, _, _ = driver.advance(state, 1)
    assert not are_equal(state.train.learner.params, before.train.learner.params)


def test_targets_are_renewed_every_period_of_learning_only():
    driver = driver_of("qrdqn")
    start, _ = advanced(driver, [49])
    assert are_equal(start.train.learner.target, driver.init(jax.random.key(0)).train.learner.target)
    renewed, _ = advanced(driver, [50])
    assert are_equal(renewed.train.learner.target, renewed.train.learner.params)
    later, _ = advanced(driver, [74])
    assert are_equal(later.train.learner.target, renewed.train.learner.target)
    assert not are_equal(later.train.learner.target, later.train.learner.params)


def test_replay_holds_what_the_records_say(driver):
    state, record = advanced(driver, [55])
    storage = jax.tree.map(np.asarray, state.train.replay.storage)
    np.testing.assert_array_equal(storage.action[:55], record.choice.action)
    np.testing.assert_array_equal(storage.reward[:55], record.reward)
    np.testing.assert_array_equal(storage.terminated[:55], record.done)
    goes_on = ~record.done[:54]
    np.testing.assert_array_equal(storage.next_obs[:54][goes_on], storage.obs[1:55][goes_on])
    first = np.asarray(driver.init(jax.random.key(0)).train.obs)
    assert np.all(storage.obs[1:55][~goes_on] == first)


def test_records_add_up_the_rewards_of_each_episode(driver):
    _, record = advanced(driver, [150])
    total, length = 0.0, 0
    for i in range(150):
        total, length = total + record.reward[i], length + 1
        assert record.episode_return[i] == pytest.approx(total)
        assert record.length[i] == length
        if record.done[i]:
            total, length = 0.0, 0
    assert np.any(record.done)


def test_falls_are_counted_in_the_records(driver):
    _, record = advanced(driver, [150])
    np.testing.assert_array_equal(record.info["fell"], record.info["fall_cause"] > 0)
    assert np.any(record.info["fell"])
    assert np.all(record.done[record.info["fell"]])


def endless():
    """Reward 1 for ever; a time limit cuts episodes off after two steps."""

    def reset(key):
        del key
        return jnp.zeros((), jnp.int32), jnp.ones(1)

    def step(time, action, key):
        del action, key
        cut = time + 1 >= 2
        return EnvironmentStep(time + 1, jnp.ones(1), jnp.asarray(1.0), jnp.zeros((), bool), cut, {})

    return Environment(reset, step, Box(0, 1, (1,)), Discrete(2))


def test_time_limit_still_bootstraps():
    """Worth 1 / (1 - discount) = 2, though no episode pays more than 2 rewards at once."""
    driver = driver_of("dqn", environment=endless(), discount=0.5, learning_rate=1e-2, replay_capacity=500)
    state, record, _ = driver.advance(driver.init(jax.random.key(0)), 1_500)
    np.testing.assert_array_equal(record.done, np.arange(1_500) % 2 == 1)
    np.testing.assert_allclose(state.train.learner.params(jnp.ones(1)), 2, atol=0.1)


@pytest.mark.parametrize("name", ["qrdqn", "uadqn"])
def test_the_training_program_copies_no_replay(name, monkeypatch):
    """Step time must not depend on capacity: the body of the loop has no copy of the replay's shape."""
    programs = []
    compile_with = compiled_driver.jit_for_speed

    def spy(function, **options):
        programs.append(compile_with(function, **options))
        return programs[-1]

    monkeypatch.setattr(compiled_driver, "jit_for_speed", spy)
    driver = driver_of(name, replay_capacity=54_321)
    monkeypatch.undo()
    state = driver.init(jax.random.key(0))
    (program,) = programs
    text = program.lower(state, 10, True).compile().as_text()
    assert "[54321,11]" in text
    assert not [line for line in text.splitlines() if re.search(r"\[54321\S* copy\(", line)]


def test_a_restart_shares_no_key_with_the_logged_loss():
    state = driver_of("dqn").init(jax.random.key(0)).train
    keys = [
        jax.random.fold_in(jax.random.fold_in(state.key, state.step), each)
        for each in (LOSS_KEY, RESTART_KEY)
    ]
    assert not np.array_equal(*map(jax.random.key_data, keys))
    assert jax.random.key_data(restart_key(state)).tolist() == jax.random.key_data(keys[1]).tolist()
