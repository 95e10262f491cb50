"""Running normalisation of observations: wraps any agent whose observations are vectors."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from surefoot.types import Agent, Beliefs, Learner, RandomKey, Scalar, Transition

MAX_DEVIATION = 10.0
"""Standard deviations beyond which a normalised observation is clipped."""
MIN_VARIANCE = 1e-8


class Moments(NamedTuple):
    """Running moments of all observations so far, feature by feature."""

    observations: Int[Array, ""]
    """How many there were."""
    mean: Float[Array, "*obs"]
    squares: Float[Array, "*obs"]
    """Sum of squared distances from the mean."""


class Normalised(NamedTuple):
    """An agent's parameters, and the moments that its observations are normalised with."""

    params: PyTree
    moments: Moments


def include(moments: Moments, obs: Array) -> Moments:
    """Moments with one more observation (Welford)."""
    # Counted in whole numbers: as a float of 32 bits the count would stop growing at 2^24.
    observations = moments.observations + 1
    distance = obs.astype(moments.mean.dtype) - moments.mean
    mean = moments.mean + distance / observations.astype(distance.dtype)
    return Moments(observations, mean, moments.squares + distance * (obs.astype(mean.dtype) - mean))


def scale(moments: Moments, obs: Array) -> Array:
    """An observation, or a batch of them, in standard deviations from the mean."""
    variance = moments.squares / jnp.maximum(moments.observations, 1).astype(moments.squares.dtype)
    mean, sd = (
        jnp.broadcast_to(each, obs.shape)
        for each in (moments.mean, jnp.sqrt(jnp.maximum(variance, MIN_VARIANCE)))
    )
    return jnp.clip((obs.astype(mean.dtype) - mean) / sd, -MAX_DEVIATION, MAX_DEVIATION)


def normalise(agent: Agent, shape: Sequence[int]) -> Agent:
    """The agent with observations of this shape normalised by their running mean and variance.

    The replay stores observations as the environment returned them; they are normalised when they are used.
    """

    def unwrapped(learner: Learner) -> Learner:
        return learner._replace(params=learner.params.params)

    def wrapped(learner: Learner, moments: Moments) -> Learner:
        return learner._replace(params=Normalised(learner.params, moments))

    def scaled(learner: Learner, batch: Transition) -> Transition:
        moments = learner.params.moments
        return batch._replace(obs=scale(moments, batch.obs), next_obs=scale(moments, batch.next_obs))

    def init(key: RandomKey) -> Learner:
        # Three arrays: a donated buffer may not appear twice in a state.
        empty = Moments(jnp.zeros((), jnp.int32), jnp.zeros(tuple(shape)), jnp.zeros(tuple(shape)))
        return wrapped(agent.init(key), empty)

    def observe(learner: Learner, obs: Array) -> Learner:
        return wrapped(agent.observe(unwrapped(learner), obs), include(learner.params.moments, obs))

    def update(learner: Learner, batch: Transition, data_count: Any, key: RandomKey) -> Learner:
        updated = agent.update(unwrapped(learner), scaled(learner, batch), data_count, key)
        return wrapped(updated, learner.params.moments)

    def loss(learner: Learner, batch: Transition, data_count: Any, key: RandomKey) -> Scalar:
        return agent.loss(unwrapped(learner), scaled(learner, batch), data_count, key)

    def beliefs(params: Normalised, obs: Array, key: RandomKey) -> Beliefs:
        return agent.beliefs(params.params, scale(params.moments, obs), key)

    return agent._replace(
        init=init,
        observe=observe,
        update=update,
        loss=loss,
        renew_target=lambda learner: wrapped(agent.renew_target(unwrapped(learner)), learner.params.moments),
        beliefs=beliefs,
    )
