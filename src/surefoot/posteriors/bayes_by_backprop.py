"""Bayes by Backprop (Blundell et al., 2015): every weight is a normal distribution; each draw is a sample.

Training lowers the variational free energy: the loss of sampled networks plus the divergence of the weights'
distribution from the prior, estimated at the same samples. A draw is one function: the same weights for all
inputs of a call.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, pi, sqrt
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.flatten_util
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from surefoot.networks import on_batch
from surefoot.settings import Settings, bounded
from surefoot.types import (
    Draws,
    MakeNetwork,
    Network,
    NetworkFactory,
    Posterior,
    PosteriorKind,
    RandomKey,
    RandomKeys,
    Scalar,
)


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of Bayes by Backprop; the prior's are among those of section 5 of the article."""

    variational_gain: float = bounded(2**0.5, above=0)
    """Gain of the orthogonal initial means of the weights."""
    variational_sd: float = bounded(0.02, above=0)
    """Initial standard deviation of every weight."""
    mixture_weight: float = bounded(0.5, at_least=0, at_most=1)
    """Part of the wide normal distribution in the prior (pi)."""
    mixture_wide_sd: float = bounded(1.0, above=0)
    """Standard deviation of the prior's wide part (sigma_1)."""
    mixture_narrow_sd: float = bounded(exp(-6), above=0)
    """Standard deviation of the prior's narrow part (sigma_2)."""
    variational_noise_scale: float = bounded(1.0, above=0)
    """Scale of the noise in the data (sigma_D of eq. 3): larger ones give the prior more weight."""


LogPrior = Callable[[Array], Scalar]
"""The logarithm of the prior's density, summed over the weights of an array."""


class Weights(NamedTuple):
    """Means of all weights, as a network, and what their standard deviations are the softplus of (rho)."""

    mean: Network
    spread: PyTree


def scale_mixture(weight: float, wide_sd: float, narrow_sd: float) -> LogPrior:
    """The prior of the article: a mixture of two normal distributions around zero (its eq. 7)."""

    def part(of_all: float, sd: float) -> tuple[float, float]:
        """A normal part's log density, as the coefficients of a constant and of the square."""
        return log(of_all / (sd * sqrt(2 * pi))) if of_all else -inf, -0.5 / sd**2

    (wide, wide_square), (narrow, narrow_square) = part(weight, wide_sd), part(1 - weight, narrow_sd)

    def log_prior(array: Array) -> Scalar:
        squares = array**2
        return jnp.sum(jnp.logaddexp(wide + wide_square * squares, narrow + narrow_square * squares))

    return log_prior


def make(config: Config, networks: NetworkFactory, draws: int) -> Posterior:
    """Bayes by Backprop as UA-DQN uses it, with the likelihood of eq. 3."""
    noise = config.variational_noise_scale
    return variational_posterior(
        networks(gain=config.variational_gain),
        draws,
        initial_sd=config.variational_sd,
        log_prior=scale_mixture(config.mixture_weight, config.mixture_wide_sd, config.mixture_narrow_sd),
        weight=lambda data_count: noise / data_count,
    )


def variational_posterior(
    network: MakeNetwork,
    draws: int,
    *,
    initial_sd: float,
    log_prior: LogPrior,
    weight: Callable[[Any], Any],
) -> Posterior:
    """Samples of networks with normal weights.

    `weight(data_count)` is the factor of the divergence when it is added to a mean loss over the data.
    """

    def init(key: RandomKey) -> Draws:
        mean = network(key)
        start = initial_sd + jnp.log(-jnp.expm1(-initial_sd))  # The inverse of softplus.
        arrays = eqx.filter(mean, eqx.is_inexact_array)
        spread = jax.tree.map(lambda leaf: jnp.full_like(leaf, start), arrays)
        return Draws(Weights(mean, spread), None)

    def noise_like(tree: PyTree, key: RandomKey) -> PyTree:
        """Standard normal numbers for all weights, drawn at once, which compiles and runs faster."""
        flat, unflatten = jax.flatten_util.ravel_pytree(tree)
        return unflatten(jax.random.normal(key, flat.shape, flat.dtype))

    def sample(params: Weights, key: RandomKey) -> tuple[Network, PyTree]:
        """A network, and the standard normal noise that its weights were made from."""
        arrays, rest = eqx.partition(params.mean, eqx.is_inexact_array)
        noise = noise_like(arrays, key)
        sampled = jax.tree.map(lambda m, s, n: m + jax.nn.softplus(s) * n, arrays, params.spread, noise)
        return eqx.combine(sampled, rest), noise

    def divergence(params: Weights, key: RandomKey) -> Scalar:
        """The logarithm of the weights' density over the prior's, at a sample."""
        sampled, noise = sample(params, key)
        arrays = jax.tree.leaves(eqx.filter(sampled, eqx.is_inexact_array))
        log_posterior = jax.tree.map(
            lambda s, n: jnp.sum(jax.scipy.stats.norm.logpdf(n) - jnp.log(jax.nn.softplus(s))),
            params.spread,
            noise,
        )
        parts = [*jax.tree.leaves(log_posterior), *(-log_prior(each) for each in arrays)]
        return jnp.sum(jnp.stack(parts))

    def penalty(params: PyTree, prior: PyTree, data_count: Any, keys: RandomKeys) -> Float[Array, "K"]:
        del prior
        return weight(data_count) * jnp.stack([divergence(params, keys[k]) for k in range(draws)])

    def predict(params: PyTree, inputs: Array, keys: RandomKeys) -> Float[Array, "K B ..."]:
        sampled: list[Any] = [sample(params, keys[k])[0] for k in range(draws)]
        return jnp.stack([on_batch(each, inputs) for each in sampled])

    return Posterior(draws, init, penalty, predict)


KIND = PosteriorKind(Config, make)
