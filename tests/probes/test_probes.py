"""Every agent in the registry on one tiny MDP with known answers.

An episode begins in one of several places, told apart by one-hot observations, and each place asks one
question. The third action is never tried.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from surefoot.agents import AGENTS
from surefoot.architectures import mlp_architecture
from surefoot.training import compiled_driver
from surefoot.training.evaluation import make_inspector
from surefoot.types import Environment, EnvironmentStep

CERTAIN, FIRST_OF_TWO, SECOND_OF_TWO, CHOICE, CHANCE = range(5)
NEVER_TRIED = 2
DISCOUNT = 0.8
CHANCE_SD = 2.0


def probe():
    """Places and rewards; only the first of two leads anywhere."""

    def observe(place):
        return jax.nn.one_hot(place, 5)

    def reset(key):
        starts = jnp.array([CERTAIN, FIRST_OF_TWO, CHOICE, CHANCE])
        place = starts[jax.random.randint(key, (), 0, 4)]
        return place, observe(place)

    def step(place, action, key):
        noise = jnp.where(jax.random.bernoulli(key), CHANCE_SD, -CHANCE_SD)
        by_place = jnp.stack(
            [
                jnp.asarray(1.0),
                jnp.asarray(0.0),
                jnp.asarray(1.0),
                jnp.where(action == 0, 1.0, -1.0),
                noise,
            ]
        )
        goes_on = place == FIRST_OF_TWO
        following = jnp.where(goes_on, SECOND_OF_TWO, place)
        return EnvironmentStep(
            following, observe(following), by_place[place], ~goes_on, jnp.zeros((), bool), {}
        )

    return Environment(reset, step, Box(0, 1, (5,)), Discrete(3))


@pytest.fixture(scope="module", params=list(AGENTS))
def learned(request):
    """The name of an agent and its beliefs of every place after training."""
    kind = AGENTS[request.param]
    config = kind.config(
        discount=DISCOUNT,
        learning_rate=5e-3,
        batch_size=32,
        replay_capacity=2_000,
        learning_starts=100,
        target_period=50,
    )
    agent = kind.make(config, mlp_architecture(5, (32,)), 3)

    def tries_two(beliefs, step_key, episode_key, step):
        del beliefs, episode_key, step
        return jax.random.randint(step_key, (), 0, NEVER_TRIED)

    driver = compiled_driver.make(agent._replace(explore=tries_two), probe(), config)
    state, _, _ = driver.advance(driver.init(jax.random.key(0)), 2_000)
    beliefs, actions = make_inspector(agent)(state.train.learner.params, jnp.eye(5), jax.random.key(0))
    return request.param, beliefs, np.asarray(actions)


def test_a_certain_reward_is_learned(learned):
    np.testing.assert_allclose(learned[1].mean[CERTAIN, :2], 1, atol=0.1)


def test_a_later_reward_is_discounted(learned):
    np.testing.assert_allclose(learned[1].mean[SECOND_OF_TWO, :2], 1, atol=0.1)
    np.testing.assert_allclose(learned[1].mean[FIRST_OF_TWO, :2], DISCOUNT, atol=0.1)


def test_the_reward_of_each_action_is_told_apart(learned):
    _, beliefs, _ = learned
    np.testing.assert_allclose(beliefs.mean[CHOICE, :2], [1, -1], atol=0.1)
    assert np.argmax(beliefs.mean[CHOICE, :2]) == 0


def test_aleatoric_estimate_finds_the_spread_of_a_reward_of_chance(learned):
    name, beliefs, _ = learned
    if name in {"dqn", "bootstrapped"}:
        assert beliefs.aleatoric is None
        return
    np.testing.assert_allclose(beliefs.aleatoric[CHANCE, :2], CHANCE_SD, rtol=0.15)
    assert np.all(beliefs.aleatoric[CERTAIN, :2] < 0.3)


def test_epistemic_estimate_is_highest_for_the_action_never_tried(learned):
    name, beliefs, _ = learned
    if name in {"dqn", "qrdqn"}:
        assert beliefs.epistemic is None
        return
    epistemic = np.asarray(beliefs.epistemic)
    assert np.all(epistemic[:, NEVER_TRIED] > epistemic[:, :NEVER_TRIED].max(axis=1))
