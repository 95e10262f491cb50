"""Randomised MAP sampling: each draw is a network pulled towards an anchor of its own.

An anchor is a sample from the prior. Minimising the loss plus the pull finds the most likely network
under a prior centred there; over anchors, these networks approximate samples from the posterior
(Pearce et al., 2018).
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from surefoot.losses import anchor_penalty, anchor_weight
from surefoot.types import Draws, MakeNetwork, Network, Posterior, RandomKey, RandomKeys, Scalar

Strength = Callable[[Network, Any], PyTree]
"""How hard an anchor pulls, given the anchor and the number of data points: `anchor_penalty`'s weights."""


def weight_std(anchor: Network) -> Scalar:
    """Standard deviation of an anchor's weights, the mean over its weight arrays.

    Departure: the released code averages over all arrays, and its zero biases halve the scale.
    """
    weights = [leaf for leaf in jax.tree.leaves(anchor) if leaf.ndim > 1]
    return jnp.mean(jnp.stack([jnp.std(weight) for weight in weights]))


def from_prior(*, noise_scale: float = 1.0, prior_scale: Callable[[Network], Any] = weight_std) -> Strength:
    """The strength that a normal prior and the noise of the data imply.

    `prior_scale` gives the prior's standard deviation for an anchor: one number, or one per array.
    """

    def strength(anchor: Network, data_count: Any) -> PyTree:
        return jax.tree.map(
            lambda scale: anchor_weight(prior_scale=scale, noise_scale=noise_scale, data_count=data_count),
            prior_scale(anchor),
        )

    return strength


def make(
    network: MakeNetwork,
    *,
    strength: Strength | None = None,
    initial: MakeNetwork | None = None,
) -> Posterior:
    """Randomised MAP sampling of networks whose prior is what `network` draws.

    Each draw starts at its anchor, or, where `initial` is given, at a network of its own from there.
    """
    pull = strength or from_prior()

    def init(key: RandomKey, count: int) -> Draws:
        anchor_key, initial_key = jax.random.split(key)
        anchors = tuple(network(each) for each in jax.random.split(anchor_key, count))
        params = anchors
        if initial is not None:
            params = tuple(initial(each) for each in jax.random.split(initial_key, count))
        return Draws(params, tuple(eqx.filter(each, eqx.is_inexact_array) for each in anchors))

    def penalty(params: PyTree, prior: PyTree, data_count: Any) -> Float[Array, "K"]:
        return jnp.stack(
            [
                anchor_penalty(each, anchor, pull(anchor, data_count))
                for each, anchor in zip(params, prior, strict=True)
            ]
        )

    def predict(params: PyTree, inputs: Array, keys: RandomKeys) -> Float[Array, "K B ..."]:
        del keys  # A draw of this posterior is deterministic.
        # Unrolled: on CPU faster than one batched product over stacked networks.
        return jnp.stack([jax.vmap(each)(inputs) for each in params])

    return Posterior(init, penalty, predict)
