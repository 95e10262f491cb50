"""A plain deep ensemble (Lakshminarayanan et al., 2017): K networks that differ by their initial weights."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from surefoot.networks import draw_each, on_batch
from surefoot.settings import Settings, bounded
from surefoot.types import Draws, MakeNetwork, NetworkFactory, Posterior, PosteriorKind, RandomKeys


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """Settings of a plain ensemble."""

    ensemble_gain: float = bounded(2**0.5, above=0)
    """Gain of the orthogonal initial weights of the ensemble's networks."""


def make(config: Config, networks: NetworkFactory, draws: int) -> Posterior:
    """A plain ensemble as UA-DQN uses it."""
    return ensemble(networks(gain=config.ensemble_gain), draws)


def ensemble(network: MakeNetwork, draws: int) -> Posterior:
    """Independent networks without any pull: where there are no data, their initial weights decide."""
    return Posterior(
        draws,
        lambda key: Draws(draw_each(network, jax.random.split(key, draws)), None),
        no_penalty,
        predict_each,
    )


def no_penalty(params: PyTree, prior: PyTree, data_count: Any, keys: RandomKeys) -> Float[Array, "K"]:
    """The penalty of a posterior that pulls its draws nowhere."""
    del params, prior, data_count
    return jnp.zeros(len(keys))


def predict_each(params: PyTree, inputs: Array, keys: RandomKeys) -> Float[Array, "K B ..."]:
    """Outputs of every network of an ensemble; its draws are deterministic and need no keys."""
    del keys
    # Unrolled: on CPU faster than one batched product over stacked networks.
    return jnp.stack([on_batch(each, inputs) for each in params])


KIND = PosteriorKind(Config, make)
