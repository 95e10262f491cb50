"""Any agent behind a running normalisation of observations that are vectors."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from surefoot.types import Agent, Beliefs, Learner, RandomKey, Scalar, Transition

FARTHEST = 10.0
"""Standard deviations beyond which an observation is cut off."""
SMALLEST_VARIANCE = 1e-8


class Moments(NamedTuple):
    """Of all observations so far, feature by feature."""

    seen: Scalar
    mean: Float[Array, "*obs"]
    squares: Float[Array, "*obs"]
    """Sum of squared distances from the mean."""


class Normalised(NamedTuple):
    """An agent's parameters, and what its observations are measured by."""

    params: PyTree
    moments: Moments


def include(moments: Moments, obs: Array) -> Moments:
    """Moments with one more observation (Welford)."""
    seen = moments.seen + 1
    distance = obs.astype(moments.mean.dtype) - moments.mean
    mean = moments.mean + distance / seen
    return Moments(seen, mean, moments.squares + distance * (obs.astype(mean.dtype) - mean))


def scale(moments: Moments, obs: Array) -> Array:
    """An observation, or a batch of them, in standard deviations from the mean."""
    variance = moments.squares / jnp.maximum(moments.seen, 1)
    mean, sd = (
        jnp.broadcast_to(each, obs.shape)
        for each in (moments.mean, jnp.sqrt(jnp.maximum(variance, SMALLEST_VARIANCE)))
    )
    return jnp.clip((obs.astype(mean.dtype) - mean) / sd, -FARTHEST, FARTHEST)


def normalise(agent: Agent, shape: Sequence[int]) -> Agent:
    """The agent for observations of this shape, seen through their running mean and variance.

    Replay keeps observations as they came; they are scaled when they are used.
    """

    def inside(learner: Learner) -> Learner:
        return learner._replace(params=learner.params.params)

    def around(learner: Learner, moments: Moments) -> Learner:
        return learner._replace(params=Normalised(learner.params, moments))

    def scaled(learner: Learner, batch: Transition) -> Transition:
        moments = learner.params.moments
        return batch._replace(obs=scale(moments, batch.obs), next_obs=scale(moments, batch.next_obs))

    def init(key: RandomKey) -> Learner:
        # Three arrays of their own: a buffer that stands in a state twice could not be given away for reuse.
        nothing = Moments(jnp.zeros(()), jnp.zeros(tuple(shape)), jnp.zeros(tuple(shape)))
        return around(agent.init(key), nothing)

    def observe(learner: Learner, obs: Array) -> Learner:
        return around(agent.observe(inside(learner), obs), include(learner.params.moments, obs))

    def update(learner: Learner, batch: Transition, data_count: Any, key: RandomKey) -> Learner:
        updated = agent.update(inside(learner), scaled(learner, batch), data_count, key)
        return around(updated, learner.params.moments)

    def loss(learner: Learner, batch: Transition, data_count: Any, key: RandomKey) -> Scalar:
        return agent.loss(inside(learner), scaled(learner, batch), data_count, key)

    def beliefs(params: Normalised, obs: Array, key: RandomKey) -> Beliefs:
        return agent.beliefs(params.params, scale(params.moments, obs), key)

    return agent._replace(
        init=init,
        observe=observe,
        update=update,
        loss=loss,
        renew_target=lambda learner: around(agent.renew_target(inside(learner)), learner.params.moments),
        beliefs=beliefs,
    )
