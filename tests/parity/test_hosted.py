"""The hosted driver makes the same run as the compiled one, given the same luck."""

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


class SameLuck(gymnasium.Env):
    """The windy cliff outside of JAX, its chance being that of a compiled run with this key."""

    def __init__(self, key):
        self.cliff = windy_cliff.make()
        seen = self.cliff.observation_space
        self.observation_space = Box(0, 15, seen.shape, jax.dtypes.canonicalize_dtype(float).type)
        self.action_space = self.cliff.action_space
        self.next_reset, key = jax.random.split(key)
        self.run_key = jax.random.split(key, 3)[2]  # As in `steps.start`.
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
        found = self._step(self.state, jnp.int32(action), keys.environment)
        self.state = found.state
        obs = np.asarray(found.obs, self.observation_space.dtype)
        return (
            obs,
            float(found.reward),
            bool(found.terminated),
            bool(found.truncated),
            {"fell": bool(found.info["fell"])},
        )


def pair_of(name, key, width):
    kind = AGENTS[name]
    config = kind.config(**SETTINGS)
    cliff = windy_cliff.make()
    agent = kind.make(config, mlp_architecture(11, (width,)), 4)
    inside = compiled_driver.make(agent, cliff, config)
    outside = hosted_driver.make(agent, CheckedEnv(SameLuck(key), "cliff"), config, 0)
    return agent, inside, outside


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
        _, inside, outside = pair_of(name, key, 8)
        one, record_in, _ = inside.advance(inside.init(key), 2_000)
        other, record_out, fault = outside.advance(outside.init(key), 2_000)
        assert fault is None
        np.testing.assert_array_equal(record_in.choice.action, record_out.choice.action)
        for field in ("reward", "over", "gain", "length"):
            np.testing.assert_array_equal(getattr(record_in, field), getattr(record_out, field))
        np.testing.assert_array_equal(record_in.info["fell"], record_out.info["fell"])
        for a, b in zip(arrays(one.run), arrays(other.run), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8)
        assert arrays(one.train.learner.params)[0].dtype == np.float64


@pytest.mark.parametrize("name", list(AGENTS))
def test_one_step_in_single_precision_from_each_of_500_states(name):
    """The compiled run leads; before each step the hosted one is set to its state."""
    key = jax.random.key(6)
    agent, inside, outside = pair_of(name, key, 16)
    choose = jax.jit(lambda run: steps.choose_action(agent, run, steps.step_keys(run)))
    state, _, _ = inside.advance(inside.init(key), 100)
    guest, _, _ = outside.advance(outside.init(key), 100)
    for _ in range(500):
        copied = jax.tree.map(jnp.copy, state.train)
        guest = guest._replace(run=copied, choice=choose(copied))
        state, record_in, _ = inside.advance(state, 1)
        guest, record_out, _ = outside.advance(guest, 1)
        np.testing.assert_array_equal(record_in.choice.action, record_out.choice.action)
        for a, b in zip(arrays(state.train), arrays(guest.run), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
