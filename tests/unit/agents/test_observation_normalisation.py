"""Running normalisation of observations: exact moments, everything else left to the agent."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot.agents import AGENTS
from surefoot.agents.observation_normalisation import Moments, include, normalise, scale
from surefoot.architectures import mlp_architecture
from surefoot.types import Transition
from tests.small_models import quick_with

KEY = jax.random.key(0)
NO_MOMENTS = Moments(jnp.zeros((), jnp.int32), jnp.zeros(3), jnp.zeros(3))


def test_moments_are_those_of_all_observations():
    seen = np.random.default_rng(0).normal([0, 100, -3], [1, 5, 0.1], (500, 3)).astype(np.float32)
    moments = NO_MOMENTS
    for obs in seen:
        moments = include(moments, jnp.asarray(obs))
    assert moments.observations == 500
    np.testing.assert_allclose(moments.mean, seen.mean(axis=0), rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(moments.squares / 500, seen.var(axis=0), rtol=1e-3)
    scaled = scale(moments, jnp.asarray(seen))
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-2)
    np.testing.assert_allclose(scaled.std(axis=0), 1, rtol=1e-2)


def test_a_constant_feature_is_zero_and_an_extreme_one_is_clipped():
    moments = include(include(NO_MOMENTS, jnp.array([5.0, 0, 0])), jnp.array([5.0, 1, 0]))
    np.testing.assert_array_equal(scale(moments, jnp.array([5.0, 1e9, -1e9])), [0, 10, -10])


@pytest.mark.parametrize("name", quick_with("qrdqn"))
def test_an_agent_behind_it_sees_what_it_would_see_of_scaled_observations(name):
    kind = AGENTS[name]
    plain = kind.make(kind.settings(), mlp_architecture(3, (8,)), 2, None)
    agent = normalise(plain, (3,))
    learner = agent.init(KEY)
    obs = jax.random.normal(KEY, (10, 3)) * 50 + 7
    for each in obs:
        learner = agent.observe(learner, each)
    moments, inner = learner.params.moments, learner._replace(params=learner.params.params)
    scaled = scale(moments, obs)
    found = agent.beliefs(learner.params, obs[0], KEY)
    np.testing.assert_array_equal(found.mean, plain.beliefs(inner.params, scaled[0], KEY).mean)
    actions, flags = jnp.arange(10) % 2, jnp.zeros(10, bool)
    batch = Transition(obs, actions, jnp.ones(10), flags, obs[::-1])
    batch_scaled = batch._replace(obs=scaled, next_obs=scaled[::-1])
    updated = agent.update(learner, batch, jnp.asarray(10.0), KEY)
    expected = plain.update(inner, batch_scaled, jnp.asarray(10.0), KEY)
    for a, b in zip(jax.tree.leaves(updated.params.params), jax.tree.leaves(expected.params), strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(updated.params.moments, moments, strict=True):
        np.testing.assert_array_equal(a, b)
    assert agent.loss(learner, batch, jnp.asarray(10.0), KEY) == plain.loss(
        inner, batch_scaled, jnp.asarray(10.0), KEY
    )


def test_the_count_goes_on_beyond_what_a_float_of_32_bits_counts():
    """In 32 bits, 2^24 + 1 is 2^24: the mean would stop moving on its own schedule."""
    moments = NO_MOMENTS._replace(observations=jnp.asarray(2**24, jnp.int32))
    assert include(include(moments, jnp.ones(3)), jnp.ones(3)).observations == 2**24 + 2
