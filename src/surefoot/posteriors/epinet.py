"""An epinet (Osband et al., 2021): one network, and a small one that turns a random index into a draw.

The outputs of a draw are those of the base network plus those of the epinet: a trained part, which sees the
base's last hidden layer and the index z, and a fixed prior. A draw is one function: the same index for all
inputs of a call. More draws cost little, because they share the base.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from surefoot.networks import Fixed, draw_stacked, features_of, mlp
from surefoot.posteriors.ensemble import no_penalty
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
)

TRAINED_WIDTHS = (15, 15)
"""Hidden layers of the trained part, as in the article."""
PRIOR_WIDTHS = (5, 5)
"""Hidden layers of each network of the prior, as in the article."""


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of an epinet."""

    base_gain: float = bounded(2**0.5, above=0)
    """Gain of the orthogonal initial weights of the base network."""
    index_size: int = bounded(8, at_least=1)
    """Numbers in the random index, and networks in the prior."""
    epinet_prior_scale: float = bounded(1.0, at_least=0)
    """Factor of the prior's outputs."""


class Epinet(eqx.Module):
    """A base network, and what an index adds to it."""

    base: Network
    trained: Network
    prior: Fixed
    prior_scale: float = eqx.field(static=True)

    def __call__(
        self, x: Array, encoded: Float[Array, "inputs"], index: Float[Array, "index"]
    ) -> Float[Array, "..."]:
        """Outputs for one input, `encoded` as a vector, and one index."""
        base: Any = self.base
        trained: Any = self.trained
        # The epinet learns from the features without changing them.
        features = jax.lax.stop_gradient(features_of(self.base, x))
        seen = jnp.concatenate([features, encoded, index])
        return base(x) + trained(seen) @ index + self.prior_scale * self.prior(encoded, index)


class Prior(eqx.Module):
    """A sum of small random networks, each times one number of the index."""

    stacked: eqx.Module

    def __call__(self, encoded: Float[Array, "inputs"], index: Float[Array, "index"]) -> Float[Array, "..."]:
        """Outputs for one input and one index."""
        outputs = eqx.filter_vmap(lambda network: network(encoded))(self.stacked)
        return jnp.tensordot(index, outputs, axes=1)


def make(config: Config, networks: NetworkFactory, draws: int) -> Posterior:
    """An epinet as UA-DQN uses it; the number of draws is that of the indices."""
    return epinet_posterior(
        networks(gain=config.base_gain),
        draws,
        networks,
        index_size=config.index_size,
        prior_scale=config.epinet_prior_scale,
    )


def epinet_posterior(
    base: MakeNetwork, draws: int, networks: NetworkFactory, *, index_size: int, prior_scale: float
) -> Posterior:
    """Draws of an epinet on a base network whose inputs and outputs are those of `networks`."""
    (inputs,) = jax.eval_shape(networks.encode, networks.example).shape
    outputs = networks.output_shape

    def init(key: RandomKey) -> Draws:
        base_key, trained_key, prior_key = jax.random.split(key, 3)
        network = base(base_key)
        (features,) = eqx.filter_eval_shape(features_of, network, networks.example).shape
        trained = mlp(features + inputs + index_size, TRAINED_WIDTHS, (*outputs, index_size))
        prior = _prior(inputs, outputs, index_size)
        parts = trained(trained_key), Fixed(prior(prior_key))
        return Draws(Epinet(network, *parts, prior_scale), None)

    def predict(params: Epinet, inputs: Array, keys: RandomKeys) -> Float[Array, "K B ..."]:
        indices = jax.vmap(lambda key: jax.random.normal(key, (index_size,)))(keys)
        encoded = jax.vmap(networks.encode)(inputs)
        one_index = jax.vmap(params, in_axes=(0, 0, None))
        return jax.vmap(partial(one_index, inputs, encoded))(indices)

    return Posterior(draws, init, no_penalty, predict)


def _prior(inputs: int, outputs: Sequence[int], index_size: int) -> MakeNetwork:
    network = mlp(inputs, PRIOR_WIDTHS, outputs)
    return lambda key: Prior(draw_stacked(network, jax.random.split(key, index_size)))


KIND = PosteriorKind(Config, make)
