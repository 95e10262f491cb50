"""MC dropout (Gal and Ghahramani, 2016): one network; each draw is a random mask on its hidden units.

With weight decay, training with dropout fits a variational approximation of the posterior of a deep Gaussian
process. A draw is one function: the same mask for all inputs of a call. Departure: units that are kept are
scaled up by 1 / (1 - p), so that the same network serves without masks; its weights are those of the article
times 1 - p, and are decayed as they stand.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from surefoot.settings import Settings, bounded
from surefoot.types import Draws, NetworkFactory, Posterior, PosteriorKind, RandomKey, RandomKeys


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of MC dropout."""

    dropout_rate: float = bounded(0.1, above=0, at_most=0.95)
    """Probability that a hidden unit is dropped."""
    dropout_gain: float = bounded(2**0.5, above=0)
    """Gain of the orthogonal initial weights of the network with dropout."""
    prior_length_scale: float = bounded(0.01, at_least=0)
    """Length scale of the prior: longer ones pull weights harder to zero."""
    dropout_noise_scale: float = bounded(1.0, above=0)
    """Standard deviation of the noise in the data (one over the root of the article's precision tau)."""


def make(config: Config, networks: NetworkFactory, draws: int) -> Posterior:
    """Masks of one network that is trained with dropout."""
    network = networks(gain=config.dropout_gain, dropout=config.dropout_rate)
    decay = config.prior_length_scale**2 * (1 - config.dropout_rate) * config.dropout_noise_scale**2

    def init(key: RandomKey) -> Draws:
        return Draws(network(key), None)

    def penalty(params: PyTree, prior: PyTree, data_count: Any, keys: RandomKeys) -> Float[Array, "K"]:
        """Weight decay: l^2 (1 - p) / (tau n) times the sum of squares, the same for each draw."""
        del prior, keys
        arrays = jax.tree.leaves(eqx.filter(params, eqx.is_inexact_array))
        squares = sum(jnp.sum(array**2) for array in arrays)
        return jnp.broadcast_to(decay * squares / data_count, (draws,))

    def predict(params: Any, inputs: Array, keys: RandomKeys) -> Float[Array, "K B ..."]:
        masked = jax.vmap(lambda key: jax.vmap(lambda each: params(each, key=key))(inputs))
        return masked(keys)

    return Posterior(draws, init, penalty, predict)


KIND = PosteriorKind(Config, make)
