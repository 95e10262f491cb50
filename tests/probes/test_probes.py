"""Every agent in the registry, and UA-DQN with every posterior, on one tiny MDP with known answers.

An episode begins in one of several states with one-hot observations, and each state tests one thing. The
third action is never tried.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from surefoot.agents import AGENTS
from surefoot.architectures import mlp_architecture
from surefoot.posteriors import POSTERIORS
from surefoot.training import compiled_driver
from surefoot.types import Environment, EnvironmentStep

CERTAIN, FIRST_OF_TWO, SECOND_OF_TWO, CHOICE, RANDOM = range(5)
NEVER_TRIED = 2
DISCOUNT = 0.8
RANDOM_SD = 2.0


def probe():
    """States and rewards; only FIRST_OF_TWO leads to another state."""

    def observe(state):
        return jax.nn.one_hot(state, 5)

    def reset(key):
        starts = jnp.array([CERTAIN, FIRST_OF_TWO, CHOICE, RANDOM])
        state = starts[jax.random.randint(key, (), 0, 4)]
        return state, observe(state)

    def step(state, action, key):
        noise = jnp.where(jax.random.bernoulli(key), RANDOM_SD, -RANDOM_SD)
        rewards = jnp.stack(
            [
                jnp.asarray(1.0),
                jnp.asarray(0.0),
                jnp.asarray(1.0),
                jnp.where(action == 0, 1.0, -1.0),
                noise,
            ]
        )
        goes_on = state == FIRST_OF_TWO
        next_state = jnp.where(goes_on, SECOND_OF_TWO, state)
        return EnvironmentStep(
            next_state, observe(next_state), rewards[state], ~goes_on, jnp.zeros((), bool), {}
        )

    return Environment(reset, step, Box(0, 1, (5,)), Discrete(3))


OTHER_POSTERIORS = [
    pytest.param(f"uadqn {name}", marks=() if name == "prior-functions" else pytest.mark.slow)
    for name in POSTERIORS
    if name != "anchored"
]
SURE_OF_WHAT_WAS_NEVER_TRIED = {"uadqn mc-dropout", "uadqn bayes-by-backprop"}
"""With their default settings; dropout's weight decay, for one, pulls outputs without data to zero."""


@pytest.fixture(scope="module", params=[*AGENTS, *OTHER_POSTERIORS])
def learned(request):
    """The name of an agent, with that of its posterior, and its beliefs in every state after training."""
    name, *posterior = request.param.split()
    kind = AGENTS[name]
    config = kind.settings(
        **({"posterior": posterior[0]} if posterior else {}),
        discount=DISCOUNT,
        learning_rate=5e-3,
        batch_size=32,
        replay_capacity=2_000,
        learning_starts=100,
        target_period=50,
    )
    agent = kind.make(config, mlp_architecture(5, (32,)), 3, None)

    def tries_two(beliefs, step_key, episode_key, step):
        del beliefs, episode_key, step
        return jax.random.randint(step_key, (), 0, NEVER_TRIED)

    driver = compiled_driver.make(agent._replace(explore=tries_two), probe(), config)
    state, _, _ = driver.advance(driver.init(jax.random.key(0)), 1_200)
    beliefs_of = jax.jit(jax.vmap(agent.beliefs, in_axes=(None, 0, None)))
    return request.param, beliefs_of(state.train.learner.params, jnp.eye(5), jax.random.key(0))


def test_a_certain_reward_is_learned(learned):
    np.testing.assert_allclose(learned[1].mean[CERTAIN, :2], 1, atol=0.1)


def test_a_later_reward_is_discounted(learned):
    np.testing.assert_allclose(learned[1].mean[SECOND_OF_TWO, :2], 1, atol=0.1)
    np.testing.assert_allclose(learned[1].mean[FIRST_OF_TWO, :2], DISCOUNT, atol=0.1)


def test_the_rewards_of_the_actions_are_told_apart(learned):
    _, beliefs = learned
    np.testing.assert_allclose(beliefs.mean[CHOICE, :2], [1, -1], atol=0.1)
    assert np.argmax(beliefs.mean[CHOICE, :2]) == 0


def test_aleatoric_estimate_finds_the_spread_of_a_random_reward(learned):
    name, beliefs = learned
    if name in {"dqn", "bootstrapped"}:
        assert beliefs.aleatoric is None
        return
    np.testing.assert_allclose(beliefs.aleatoric[RANDOM, :2], RANDOM_SD, rtol=0.15)
    assert np.all(beliefs.aleatoric[CERTAIN, :2] < 0.3)


def test_epistemic_estimate_is_highest_for_the_action_never_tried(learned):
    name, beliefs = learned
    if name in {"dqn", "qrdqn"}:
        assert beliefs.epistemic is None
        return
    epistemic = np.asarray(beliefs.epistemic)
    is_highest = np.all(epistemic[:, NEVER_TRIED] > epistemic[:, :NEVER_TRIED].max(axis=1))
    assert is_highest == (name not in SURE_OF_WHAT_WAS_NEVER_TRIED)
