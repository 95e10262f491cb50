"""The hosted driver trains exactly as the compiled one, given the same random numbers."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box

from surefoot.agents import AGENTS
from surefoot.architectures import mlp_architecture
from surefoot.envs import windy_cliff
from surefoot.envs.checked import CheckedEnv
from surefoot.training import compiled_driver, hosted_driver
from surefoot.training import step as steps

SETTINGS = {
    "learning_rate": 1e-3,
    "batch_size": 16,
    "replay_capacity": 1_000,
    "learning_starts": 100,
    "target_period": 50,
}


class SameRandomness(gymnasium.Env):
    """The windy cliff as a Gymnasium environment, with the random keys of a compiled run with this key."""

    def __init__(self, key):
        self.cliff = windy_cliff.make()
        shape = self.cliff.observation_space.shape
        self.observation_space = Box(0, 15, shape, jax.dtypes.canonicalize_dtype(float).type)
        self.action_space = self.cliff.action_space
        self.next_reset, key = jax.random.split(key)
        self.run_key = jax.random.split(key, 3)[2]  # As in `steps.init_state`.
        self.time = 0
        self._reset, self._step = jax.jit(self.cliff.reset), jax.jit(self.cliff.step)
        # As `steps.step_keys` makes them from the key of a run and the number of a step.
        self._keys = jax.jit(
            lambda key, time: steps.StepKeys(*jax.random.split(jax.random.fold_in(key, time), 7))
        )

    def reset(self, *, seed=None, options=None):
        del seed, options
        self.state, obs = self._reset(self.next_reset)
        return np.asarray(obs, self.observation_space.dtype), {}

    def step(self, action):
        keys = self._keys(self.run_key, self.time)
        self.time, self.next_reset = self.time + 1, keys.reset
        step = self._step(self.state, jnp.int32(action), keys.environment)
        self.state = step.state
        obs = np.asarray(step.obs, self.observation_space.dtype)
        return (
            obs,
            float(step.reward),
            bool(step.terminated),
            bool(step.truncated),
            {"fell": bool(step.info["fell"])},
        )


def make_drivers(name, key, width):
    kind = AGENTS[name]
    config = kind.settings(**SETTINGS)
    cliff = windy_cliff.make()
    agent = kind.make(config, mlp_architecture(11, (width,)), 4)
    compiled = compiled_driver.make(agent, cliff, config)
    hosted = hosted_driver.make(agent, CheckedEnv(SameRandomness(key), "cliff"), config, 0)
    return agent, compiled, hosted


def arrays(tree):
    return [
        np.asarray(leaf)
        for leaf in jax.tree.leaves(tree)
        if not jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    ]


@pytest.mark.parametrize("name", list(AGENTS))
def test_2000_steps_take_the_same_actions_and_end_with_the_same_parameters(name):
    with jax.enable_x64(True):
        key = jax.random.key(5)
        _, compiled, hosted = make_drivers(name, key, 8)
        compiled_state, compiled_record, _ = compiled.advance(compiled.init(key), 2_000)
        hosted_state, hosted_record, error = hosted.advance(hosted.init(key), 2_000)
        assert error is None
        np.testing.assert_array_equal(compiled_record.choice.action, hosted_record.choice.action)
        for field in ("reward", "done", "terminated", "episode_return", "length"):
            np.testing.assert_array_equal(getattr(compiled_record, field), getattr(hosted_record, field))
        np.testing.assert_array_equal(compiled_record.info["fell"], hosted_record.info["fell"])
        for a, b in zip(arrays(compiled_state.train), arrays(hosted_state.train), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
        assert arrays(compiled_state.train.learner.params)[0].dtype == np.float64


@pytest.mark.parametrize("name", list(AGENTS))
def test_one_step_in_single_precision_agrees_from_each_of_500_states(name):
    """Before each step, the hosted driver is set to the state of the compiled one."""
    key = jax.random.key(6)
    agent, compiled, hosted = make_drivers(name, key, 16)
    config = AGENTS[name].settings(**SETTINGS)
    choose = jax.jit(lambda train: steps.choose_action(agent, config, train, steps.step_keys(train)))
    compiled_state, _, _ = compiled.advance(compiled.init(key), 100)
    hosted_state, _, _ = hosted.advance(hosted.init(key), 100)
    for _ in range(500):
        copied = jax.tree.map(jnp.copy, compiled_state.train)
        hosted_state = hosted_state._replace(train=copied, choice=choose(copied))
        compiled_state, compiled_record, _ = compiled.advance(compiled_state, 1)
        hosted_state, hosted_record, _ = hosted.advance(hosted_state, 1)
        np.testing.assert_array_equal(compiled_record.choice.action, hosted_record.choice.action)
        for a, b in zip(arrays(compiled_state.train), arrays(hosted_state.train), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
