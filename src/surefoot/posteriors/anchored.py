"""Randomised MAP sampling: each draw is a network pulled towards an anchor of its own.

An anchor is a sample from the prior. Minimising the loss plus the pull finds the most likely network
under a prior centred there; over anchors, these networks approximate samples from the posterior
(Pearce et al., 2018). For a linear model their mean is the posterior's; their variance is the posterior's
times the part of its precision that is the prior's, so that draws agree too much where data are plenty.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from surefoot.losses import anchor_penalty, anchor_weight
from surefoot.networks import draw_each
from surefoot.posteriors.ensemble import predict_each
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
    """Settings of randomised MAP sampling."""

    prior_gain: float = bounded(3.0, above=0)
    """Gain of the orthogonal anchors of the auxiliary networks."""
    prior_scale: Literal["weights", "all"] = "weights"
    """Arrays whose spread is the prior's scale: weights, or zero biases too, as in the released code."""
    noise_scale: float = bounded(1.0, above=0)
    """Scale of the noise in the data."""


PriorScale = Callable[[Network], Any]
"""The prior's standard deviation, given an anchor: one number, or a tree like it with one per array."""

Weight = Callable[[Scalar, Any], Any]
"""How hard an anchor pulls, given the prior's standard deviation and the number of data points."""


class Anchor(NamedTuple):
    """A network drawn from the prior, and the prior's scale."""

    network: PyTree
    scale: PyTree


def weight_std(anchor: Network) -> Scalar:
    """Standard deviation of an anchor's weights, the mean over its arrays that are not called a bias."""
    named = jax.tree_util.tree_leaves_with_path(eqx.filter(anchor, eqx.is_inexact_array))
    return _mean_std([leaf for path, leaf in named if "bias" not in jax.tree_util.keystr(path[-1:])])


def array_std(anchor: Network) -> Scalar:
    """The same over all arrays, as in the released code: zero biases halve it.

    Departure: theirs divides by n - 1, and takes one network's scale for all.
    """
    return _mean_std(jax.tree.leaves(eqx.filter(anchor, eqx.is_inexact_array)))


def _mean_std(arrays: Sequence[Array]) -> Scalar:
    if not arrays:
        raise ValueError("prior_scale: this network has no weights to take it from")
    return jnp.mean(jnp.stack([jnp.std(array) for array in arrays]))


def by_noise(noise_scale: float = 1.0) -> Weight:
    """The pull that noise of this scale in the data implies."""
    return lambda scale, data_count: anchor_weight(
        prior_scale=scale, noise_scale=noise_scale, data_count=data_count
    )


PRIOR_SCALES: dict[str, PriorScale] = {"weights": weight_std, "all": array_std}


def make(config: Config, networks: NetworkFactory, draws: int) -> Posterior:
    """Randomised MAP sampling as UA-DQN uses it."""
    return anchored_posterior(
        networks(gain=config.prior_gain),
        draws,
        prior_scale=PRIOR_SCALES[config.prior_scale],
        weight=by_noise(config.noise_scale),
    )


def anchored_posterior(
    network: MakeNetwork,
    draws: int,
    *,
    prior_scale: PriorScale = weight_std,
    weight: Weight | None = None,
    initial: MakeNetwork | None = None,
) -> Posterior:
    """Randomised MAP sampling of `draws` networks whose prior is what `network` draws.

    Each draw starts at its anchor, or, where `initial` is given, at a network of its own from there.
    """
    pull = weight or by_noise()

    def anchor(network: Network) -> Anchor:
        arrays = eqx.filter(network, eqx.is_inexact_array)
        # Copy: a donated buffer may not appear twice in a state.
        return Anchor(jax.tree.map(jnp.copy, arrays), jax.tree.map(jnp.asarray, prior_scale(arrays)))

    def init(key: RandomKey) -> Draws:
        anchor_key, initial_key = jax.random.split(key)
        priors = draw_each(network, jax.random.split(anchor_key, draws))
        params = priors
        if initial is not None:
            params = draw_each(initial, jax.random.split(initial_key, draws))
        return Draws(params, tuple(anchor(each) for each in priors))

    def penalty(params: PyTree, prior: PyTree, data_count: Any, keys: RandomKeys) -> Float[Array, "K"]:
        del keys

        def of_draw(draw: Network, anchor: Anchor) -> Scalar:
            weights = jax.tree.map(lambda scale: pull(scale, data_count), anchor.scale)
            return anchor_penalty(draw, anchor.network, weights)

        return jnp.stack([of_draw(draw, anchor) for draw, anchor in zip(params, prior, strict=True)])

    return Posterior(draws, init, penalty, predict_each)


KIND = PosteriorKind(Config, make)
