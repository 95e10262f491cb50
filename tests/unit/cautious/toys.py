"""A model whose uncertainty is known, and where it plays."""

from contextlib import contextmanager
from types import SimpleNamespace

import gymnasium
import jax.numpy as jnp
import numpy as np
from gymnasium.spaces import Box, Discrete

from surefoot.envs.resolve import resolve_env
from surefoot.types import Beliefs

LENGTH = 50


class Uniform(gymnasium.Env):
    """Observations are independent and uniform; the reward is the number of the action."""

    observation_space = Box(0, 1, (1,))
    action_space = Discrete(2, start=3)

    def _observation(self):
        return self.np_random.random(1).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        self.time = 0
        return self._observation(), {}

    def step(self, action):
        self.time += 1
        event = {"saved": bool(action == 4)}
        return self._observation(), float(action), self.time == LENGTH, False, event


ID = "surefoot-tests/Uniform-v0"
gymnasium.register(ID, Uniform)  # By its name, several can be made and played side by side.


class Unsure:
    """Takes the first action, about which it is as unsure as its observation says, and never the second."""

    observation_space, action_space = Uniform.observation_space, Uniform.action_space
    num_timesteps = 0

    def __init__(self, seed=0):
        self.spec = SimpleNamespace(seed=seed, agent="unsure", env="Uniform")
        self.states = []

    def predict(self, observation, state=None, episode_start=None, deterministic=True):
        self.states.append((state, episode_start, deterministic))
        return np.full(len(observation), 3), "mine"

    def beliefs(self, observation):
        epistemic = jnp.asarray(np.asarray(observation, np.float32).reshape(-1, 1))
        both = jnp.concatenate([epistemic, jnp.full_like(epistemic, 100.0)], axis=-1)
        return Beliefs(mean=jnp.zeros_like(both), epistemic_variance=both**2)

    @contextmanager
    def evaluation_env(self, env):
        yield resolve_env(ID if env is None else env)
