"""Loss functions: the paper's quantile loss, the likelihood behind it, the Huber loss, the anchor penalty."""

from collections.abc import Callable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from surefoot.types import Scalar


def quantile_levels(count: int) -> Float[Array, "N"]:
    """The quantile levels of the paper: i / (N + 1) for i = 1 ... N (section 1)."""
    return jnp.arange(1, count + 1, dtype=float) / (count + 1)


def midpoint_levels(count: int) -> Float[Array, "N"]:
    """The quantile levels of QR-DQN and of the paper's released code: (i - 1/2) / N for i = 1 ... N."""
    return (jnp.arange(1, count + 1, dtype=float) - 0.5) / count


LEVELS = {"paper": quantile_levels, "midpoints": midpoint_levels}


def pinball(error: Float[Array, "*shape"], level: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Pinball loss rho_tau(u) = u (tau - 1[u < 0]), element by element (eq. 1)."""
    return error * jnp.where(error < 0, level - 1, level)


def quantile_huber(
    error: Float[Array, "*shape"], level: Float[Array, "*shape"], kappa: float
) -> Float[Array, "*shape"]:
    """Quantile Huber loss |tau - 1[u < 0]| H_kappa(u) / kappa, element by element.

    H_kappa is the Huber loss: quadratic up to kappa, linear beyond. The division by kappa makes it tend to
    the pinball loss as kappa tends to 0; with kappa = 0 it is the pinball loss.
    """
    if kappa == 0:
        return pinball(error, level)
    size = jnp.abs(error)
    huber = jnp.where(size <= kappa, error**2 / (2 * kappa), size - kappa / 2)
    return jnp.where(error < 0, 1 - level, level) * huber


def quantile_loss(
    quantiles: Float[Array, "*batch N"],
    targets: Float[Array, "*batch M"],
    levels: Float[Array, "N"],
    kappa: float = 0.0,
) -> Float[Array, "*batch"]:
    """Quantile loss: the sum over quantiles of the mean over target samples (eq. 1; the paper has kappa = 0).

    The gradient is written by hand: for kappa = 0 it needs only the number of targets below each quantile,
    and the compiler drops the computation of the loss itself where only the gradient is used. `levels` are
    constants: no gradient flows to them.
    """
    if kappa < 0:
        raise ValueError(f"kappa: got {kappa}, accepted: numbers from 0")
    return _quantile_loss(quantiles, targets, jnp.broadcast_to(levels, quantiles.shape), kappa)


def _quantile_loss_value(quantiles: Any, targets: Any, levels: Any, kappa: float) -> Any:
    errors = targets[..., None, :] - quantiles[..., :, None]  # [..., N, M]
    per_pair = quantile_huber(errors, jnp.broadcast_to(levels[..., None], errors.shape), kappa)
    return per_pair.mean(axis=-1).sum(axis=-1)


MAX_UNROLLED = 64
"""Most targets for which sums over them are unrolled: longer programs take long to compile."""


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _quantile_loss(quantiles: Any, targets: Any, levels: Any, kappa: float) -> Any:
    return _quantile_loss_value(quantiles, targets, levels, kappa)


def _quantile_loss_forward(quantiles: Any, targets: Any, levels: Any, kappa: float) -> Any:
    value = _quantile_loss_value(quantiles, targets, levels, kappa)
    return value, (quantiles, targets, levels)


def _quantile_loss_backward(kappa: float, residuals: Any, cotangent: Any) -> Any:
    quantiles, targets, levels = residuals
    count = targets.shape[-1]
    scale = cotangent[..., None] / count
    # Gradients to targets are computed only where they are used, which on the hot path they are not.
    if kappa == 0:
        is_below = partial(_is_below, quantiles)
        to_quantiles = _sum_over_last(is_below, targets) - count * levels
        to_targets = levels.sum(axis=-1, keepdims=True) - _each_on_last(is_below, targets).sum(axis=-2)
    else:
        slopes = partial(_huber_slopes, quantiles, levels, kappa)
        to_quantiles = -_sum_over_last(slopes, targets)
        to_targets = _each_on_last(slopes, targets).sum(axis=-2)
    return scale * to_quantiles, scale * to_targets, jnp.zeros_like(levels)


def _is_below(quantiles: Any, target: Any) -> Any:
    """One for each quantile that a target lies below, otherwise zero."""
    return (target < quantiles).astype(quantiles.dtype)


def _huber_slopes(quantiles: Any, levels: Any, kappa: float, target: Any) -> Any:
    """Slopes of the quantile Huber loss at the distances of one target from all quantiles."""
    errors = target - quantiles
    return jnp.where(errors < 0, 1 - levels, levels) * jnp.clip(errors / kappa, -1, 1)


def _each_on_last(function: Callable[[Any], Any], values: Any) -> Any:
    """What a function returns for each number on the last axis, on a last axis."""
    return jax.vmap(function, in_axes=-1, out_axes=-1)(values[..., None, :])


def _sum_over_last(terms: Callable[[Any], Any], values: Any) -> Any:
    """The sum of what a function returns for each number on the last axis.

    Unrolled: a tensor of all terms and its reduction take XLA on CPU several passes through memory.
    """
    if values.shape[-1] > MAX_UNROLLED:
        return _each_on_last(terms, values).sum(axis=-1)
    return sum(terms(values[..., index : index + 1]) for index in range(values.shape[-1]))


_quantile_loss.defvjp(_quantile_loss_forward, _quantile_loss_backward)


def huber(error: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Huber loss, element by element: quadratic up to 1, linear beyond (the loss of DQN)."""
    size = jnp.abs(error)
    return jnp.where(size <= 1, error**2 / 2, size - 0.5)


def bellman_target(
    reward: Float[Array, "*batch"],
    terminated: Bool[Array, "*batch"],
    next_returns: Float[Array, "*batch N"],
    discount: float,
) -> Float[Array, "*batch N"]:
    """Bellman targets r + gamma z', for each sample z' of the next state's return; r where terminated."""
    bootstrap = discount * jnp.where(terminated, 0.0, 1.0)
    return jax.lax.stop_gradient(reward[..., None] + bootstrap[..., None] * next_returns)


def log_likelihood_of_quantile(
    samples: Float[Array, "K"], value: Scalar, level: Scalar, scale: float
) -> Scalar:
    """Log-likelihood log P(D | theta) of one quantile: samples follow an asymmetric Laplace law (eq. 2).

    `scale` is the paper's sigma_D.
    """
    errors = samples - value
    return jnp.sum(
        jnp.log(level * (1 - level) / scale) - pinball(errors, jnp.broadcast_to(level, errors.shape)) / scale
    )


def log_likelihood(
    samples: Float[Array, "K"],
    quantiles: Float[Array, "N"],
    levels: Float[Array, "N"],
    scale: float,
) -> Scalar:
    """Log-likelihood log P(D | theta) of N quantiles: the sum of eq. 2 over them (eq. 3).

    It equals a constant less K / scale times eq. 1, so the quantiles that minimise the loss maximise it.
    """
    per_quantile = jax.vmap(log_likelihood_of_quantile, in_axes=(None, 0, 0, None))
    return per_quantile(samples, quantiles, levels, scale).sum()


def anchor_weight(
    *, prior_scale: Scalar | float, noise_scale: float, data_count: Scalar | float
) -> Scalar | float:
    """Weight of the anchor penalty when it is added to a loss that is a mean over n data.

    It is noise_scale^2 / (prior_scale^2 n): large with little data or a narrow prior.
    Departure: the MAP of eq. 3 under a normal prior has sigma_D / (2 prior_scale^2 n); this form, which the
    released code has, is the exact MAP for squared errors of normal noise.
    """
    return noise_scale**2 / (prior_scale**2 * data_count)


def anchor_penalty(params: PyTree, anchors: PyTree, weights: PyTree) -> Scalar:
    """Weighted squared distance of a network's parameters from its anchors (randomised MAP sampling).

    `weights` is one number, or a pytree like `params` with one number per array.
    """
    trained = eqx.filter(params, eqx.is_inexact_array)
    if jax.tree.structure(weights) == jax.tree.structure(0.0):
        weights = jax.tree.map(lambda _: weights, trained)
    penalties = jax.tree.map(lambda p, a, w: w * jnp.sum((p - a) ** 2), trained, anchors, weights)
    return jnp.sum(jnp.stack(jax.tree.leaves(penalties)))
