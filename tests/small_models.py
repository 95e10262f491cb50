"""Models and environments that are small enough to train in a test, shared so that programs compile once."""

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from surefoot.agents import AGENTS

QUICK = {
    "network": "mlp:8",
    "batch_size": 4,
    "learning_starts": 30,
    "target_period": 20,
    "replay_capacity": 60,
}
FLAGS = [word for name, value in QUICK.items() for word in (f"--{name.replace('_', '-')}", str(value))]
"""The same settings for the command."""
CLIFF = "surefoot/WindyCliff-v0"


def quick_with(*agents):
    """All agents as parameters of a test, of which these run in `make test` and the others in `make soak`."""
    return [pytest.param(name, marks=() if name in agents else pytest.mark.slow) for name in AGENTS]


def have_equal_learners(one, other):
    """Whether two models have the same networks, targets, priors and optimisers, bit for bit."""
    leaves = [jax.tree.leaves(each._live_run.learner) for each in (one, other)]
    return all(np.array_equal(a, b) for a, b in zip(*leaves, strict=True))


class TwoArms(gymnasium.Env):
    """A bandit: action 3 always pays 1; action 4 pays 5 or -2, 1.5 on average."""

    observation_space = Box(0, 1, (1,))
    action_space = Discrete(2, start=3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed, options=options)
        return np.ones(1, np.float32), {}

    def step(self, action):
        reward = 1.0 if action == 3 else float(self.np_random.choice([5.0, -2.0]))
        return np.ones(1, np.float32), reward, True, False, {}


def jitted(agent):
    """An agent whose functions are compiled; operation by operation, they would take far longer."""
    names = ("init", "observe", "update", "loss", "beliefs", "renew_target")
    return agent._replace(**{name: jax.jit(getattr(agent, name)) for name in names})
