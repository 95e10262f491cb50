"""Regression tasks for every posterior: the toy of Figure 1, and the six points of the appendix."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from numpy.typing import NDArray

from surefoot.experiments import network_width, toy
from surefoot.experiments.base import Advance
from surefoot.experiments.regression import Loss, make_fit
from surefoot.layers import normal
from surefoot.networks import mlp
from surefoot.optimisers import adam
from surefoot.posteriors import POSTERIORS
from surefoot.types import MakeNetwork, NetworkFactory, Posterior, RandomKey, Scalar

DRAWS = 8
"""Draws from each posterior: networks of an ensemble, or samples of one network."""
HELD_OUT = 1_000
"""New observations that scores are computed on."""
SIX_POINTS_WIDTH = 100
SIX_POINTS_PART = 5
"""The six points are fitted for one step in five of the toy's: 2,000 of 10,000."""
SIX_POINTS_RATE = 0.01
SIX_POINTS_RANGE = (float(network_width.POINTS_X.min()), float(network_width.POINTS_X.max()))

SIX_POINTS_SETTINGS: dict[str, dict[str, Any]] = {
    "mc-dropout": {"dropout_noise_scale": network_width.NOISE},
    # Twice the variance: the weight of the divergence for a mean of squared errors.
    "bayes-by-backprop": {"variational_noise_scale": 2 * network_width.NOISE**2},
}
"""Settings of posteriors on the six points that are not their defaults: the noise is known."""


def settings_of(task: str, name: str) -> dict[str, Any]:
    """Settings of a posterior on a task that are not its defaults."""
    return (toy.SETTINGS if task == "toy" else SIX_POINTS_SETTINGS).get(name, {})


class Fitted(NamedTuple):
    """What draws of a fitted posterior say, `[draw, point, output]`, and new observations, `[point]`."""

    on_grid: NDArray[Any]
    at_new: NDArray[Any]
    new_y: NDArray[Any]
    at_pairs: NDArray[Any]
    """Outputs at pairs of points, `[draw, 2, pair, output]`."""
    pair_y: NDArray[Any]
    """An observation at each point of a pair, `[2, pair]`."""
    noise_variance: float | None
    """The variance of the noise where it is known, and not learned."""
    seconds_per_update: float


class Task(NamedTuple):
    """A regression task."""

    grid: NDArray[Any]
    near: NDArray[Any]
    """Which grid points are at the data."""
    far: NDArray[Any]
    """Which grid points are far from the data."""
    truth: Callable[[Any], Any]
    """The mean of an observation at a point."""
    fit: Callable[[str, int, int, Advance], Fitted]
    """From a posterior's name, a seed and a number of steps."""


def toy_truth(x: Any) -> Any:
    """The curve of Figure 1."""
    return jnp.cos(2 * jnp.pi * x)


def six_points_truth(x: Any) -> Any:
    """The curve that the appendix's six points lie on."""
    return x * jnp.sin(5 * x)


def pairs_of_points(key: RandomKey, low: float, high: float) -> Float[Array, "2 n"]:
    """Pairs of random points; those of every other pair are one and the same.

    Thompson sampling needs draws that are functions: wrong at one point as at the same point before, and as
    at points nearby.
    """
    first, second = jax.random.uniform(key, (2, HELD_OUT), minval=low, maxval=high)
    return jnp.stack([first, jnp.where(jnp.arange(HELD_OUT) % 2 == 0, first, second)])


def at_pairs(predict: Callable[[Any], NDArray[Any]], points: Float[Array, "2 n"]) -> NDArray[Any]:
    """Outputs of the same draws at both points of each pair."""
    outputs = predict(points.reshape(-1, 1))
    return outputs.reshape(len(outputs), 2, HELD_OUT, -1)


def fit_toy(name: str, seed: int, steps: int, advance: Advance) -> Fitted:
    """The toy regression with quantiles, as in Figure 1."""
    config = toy.Config(posterior=name)
    posterior = toy.make_posterior(config, DRAWS)
    data_key, fit_key, new_key, pair_key, predict_key = jax.random.split(jax.random.key(seed), 5)
    x, y = toy.make_data(data_key, config.points)
    loss = toy.make_loss(config, posterior)
    params, seconds = fit_and_time(posterior, loss, config.learning_rate, fit_key, (x, y), steps, advance)
    predict = predictor(posterior, params, predict_key)
    new_x, new_y = toy.make_data(new_key, HELD_OUT)
    pair_x = pairs_of_points(pair_key, toy.GRID[0], toy.GRID[-1])
    noise = toy.NOISE * jax.random.normal(jax.random.fold_in(pair_key, 1), (2, HELD_OUT))
    return Fitted(
        on_grid=predict(jnp.asarray(toy.GRID[:, None], float)),
        at_new=predict(new_x),
        new_y=np.asarray(new_y, float),
        at_pairs=at_pairs(predict, pair_x),
        pair_y=np.asarray(toy_truth(pair_x) + noise, float),
        noise_variance=None,
        seconds_per_update=seconds,
    )


def six_points_networks() -> NetworkFactory:
    """A maker of the appendix's networks: one hidden layer, weights from its prior whatever the gain."""

    def make(*, gain: float, dropout: float) -> MakeNetwork:
        del gain
        layer = normal(network_width.PRIOR_VARIANCE)
        return mlp(1, (SIX_POINTS_WIDTH,), (1,), layer=layer, output_bias=False, dropout=dropout)

    return NetworkFactory(make, jnp.ravel, jax.ShapeDtypeStruct((1,), float), (1,))


def make_six_points_posterior(name: str) -> Posterior:
    """A posterior for the six points: the appendix's own where it is anchored."""
    if name == "anchored":
        return network_width.make_posterior(SIX_POINTS_WIDTH, DRAWS, 1)
    kind = POSTERIORS.resolve(name)
    return kind.make(kind.config(**SIX_POINTS_SETTINGS.get(name, {})), six_points_networks(), DRAWS)


def fit_six_points(name: str, seed: int, steps: int, advance: Advance) -> Fitted:
    """The six points of the appendix with squared errors."""
    posterior = make_six_points_posterior(name)
    x = jnp.asarray(network_width.POINTS_X[:, None], float)
    y = jnp.asarray(network_width.POINTS_Y, float)

    def loss(params: PyTree, data: Any, key: RandomKey) -> Scalar:
        x, y, prior = data
        keys = jax.random.split(key, DRAWS)
        errors = posterior.predict(params, x, keys)[..., 0] - jnp.broadcast_to(y[None], (DRAWS, len(y)))
        return jnp.sum((errors**2).mean(axis=-1) + posterior.penalty(params, prior, len(y), keys))

    fit_key, new_key, pair_key, predict_key = jax.random.split(jax.random.key(seed), 4)
    count = max(steps // SIX_POINTS_PART, 1)
    params, seconds = fit_and_time(posterior, loss, SIX_POINTS_RATE, fit_key, (x, y), count, advance)
    predict = predictor(posterior, params, predict_key)
    new_x, noise = jnp.linspace(*SIX_POINTS_RANGE, HELD_OUT), network_width.NOISE
    pair_x = pairs_of_points(pair_key, *SIX_POINTS_RANGE)
    pair_noise = noise * jax.random.normal(jax.random.fold_in(pair_key, 1), (2, HELD_OUT))
    return Fitted(
        on_grid=predict(jnp.asarray(network_width.GRID[:, None], float)),
        at_new=predict(new_x[:, None]),
        new_y=np.asarray(six_points_truth(new_x) + noise * jax.random.normal(new_key, (HELD_OUT,)), float),
        at_pairs=at_pairs(predict, pair_x),
        pair_y=np.asarray(six_points_truth(pair_x) + pair_noise, float),
        noise_variance=noise**2,
        seconds_per_update=seconds,
    )


def fit_and_time(
    posterior: Posterior, loss: Loss, rate: float, key: RandomKey, data: Any, steps: int, advance: Advance
) -> tuple[PyTree, float]:
    """Fitted parameters, and the seconds that an update takes once it is compiled.

    Other fits run at the same time, one on each core.
    """
    draw_key, fit_key = jax.random.split(key)
    params, prior = posterior.init(draw_key)
    marks: list[tuple[float, float]] = []
    done = 0.0

    def note(part: float) -> None:
        nonlocal done
        done += part
        marks.append((done, time.perf_counter()))
        advance(part)

    params = make_fit(loss, adam(rate))(params, (*data, prior), fit_key, steps, note)
    # The first piece compiles.
    (first_part, first_time), (last_part, last_time) = marks[0], marks[-1]
    return params, (last_time - first_time) / max((last_part - first_part) * steps, 1)


def predictor(
    posterior: Posterior, params: PyTree, key: RandomKey
) -> Callable[[Float[Array, "n 1"]], NDArray[Any]]:
    """Outputs of the same draws for any inputs."""
    predict, keys = eqx.filter_jit(posterior.predict), jax.random.split(key, DRAWS)
    return lambda inputs: np.asarray(predict(params, inputs, keys), float)


TASKS = {
    "toy": Task(toy.GRID, toy.AT_DATA, toy.FAR_FROM_DATA, toy_truth, fit_toy),
    "six points": Task(
        network_width.GRID,
        np.min(np.abs(network_width.GRID[:, None] - network_width.POINTS_X[None]), axis=1) < 0.03,
        np.abs(network_width.GRID) > 2,
        six_points_truth,
        fit_six_points,
    ),
}
