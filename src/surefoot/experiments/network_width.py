"""Appendix figure: one network with many outputs compared with an ensemble of networks, by width.

Departure: the released code adds up squared errors over points for the network with many outputs and
averages them for the ensemble; here both average over points and add up over outputs, the exact MAP.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree
from numpy.typing import NDArray

from surefoot.claims import Claim, above, below, between, claim
from surefoot.errors import require
from surefoot.experiments.base import (
    Advance,
    DirectExperiment,
    ExperimentConfig,
    Outcome,
    Table,
)
from surefoot.experiments.regression import make_fit
from surefoot.figures import network_width as figure
from surefoot.layers import Dense, normal, normal_scale
from surefoot.networks import mlp
from surefoot.optimisers import adam
from surefoot.posteriors import anchored
from surefoot.settings import bounded, checked
from surefoot.statistics import Estimate, jackknife_estimate, ratio_estimate
from surefoot.tables import stack_tables
from surefoot.types import Network, Posterior, RandomKey, Scalar

POINTS_X = np.array([1.0, 4.5, 5.1, 6.0, 8.0, 9.0]) / 5 - 1
POINTS_Y = POINTS_X * np.sin(5 * POINTS_X)
GRID = np.linspace(-3, 3, 121)
PRIOR_VARIANCE = 4.0
NOISE = 0.01
NARROW_WIDTH, WIDE_WIDTH = 10, 100
"""The widths of the paper's four panels."""
MEMBERS = 20
"""Outputs of the one network, and networks of the ensemble."""


def require_widths(field: str, widths: tuple[int, ...]) -> None:
    """Refuse widths that are not positive, that repeat, or that lack those of the paper."""
    for width in widths:
        require(field, width, width >= 1, "whole numbers from 1")
    is_complete = {NARROW_WIDTH, WIDE_WIDTH} <= set(widths)
    accepted = f"different widths, {NARROW_WIDTH} and {WIDE_WIDTH} among them"
    given = " ".join(map(str, widths)) or "none"
    require(field, given, is_complete and len(set(widths)) == len(widths), accepted)


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """Network widths: the settings of the appendix figure."""

    seeds: int = bounded(40, at_least=1)
    """Independent networks with many outputs, and independent ensembles."""
    steps: int = bounded(1_000, at_least=1)
    """Epochs: Adam steps on all six points."""
    widths: tuple[int, ...] = checked((10, 30, 100, 300, 1000), require_widths)
    """Neurons in the hidden layer; 10 and 100, which the paper shows, must be among them."""
    learning_rate: float = bounded(0.01, above=0)
    """Learning rate of Adam."""


def prior_scales(network: Network) -> PyTree:
    """Standard deviation of the prior of every array; the weights and biases of a layer share one."""

    def of_layer(layer: Dense) -> Dense:
        return jax.tree.map(lambda _: normal_scale(PRIOR_VARIANCE, layer.weight.shape[1]), layer)

    return jax.tree.map(of_layer, network, is_leaf=lambda node: isinstance(node, Dense))


def make_posterior(width: int, networks: int, outputs: int) -> Posterior:
    """The appendix's posterior: anchors and initial networks from the prior, whose scales are exact."""
    network = mlp(1, (width,), (outputs,), layer=normal(PRIOR_VARIANCE), output_bias=False)
    return anchored.anchored_posterior(
        network, networks, initial=network, prior_scale=prior_scales, weight=anchored.by_noise(NOISE)
    )


def train(config: Config, width: int, networks: int, outputs: int, advance: Advance) -> NDArray[Any]:
    """Predictions on the grid after training, `[seed, network, grid, output]`."""
    posterior = make_posterior(width, networks, outputs)
    x = jnp.asarray(POINTS_X[:, None], dtype=float)
    y = jnp.asarray(POINTS_Y, dtype=float)

    def loss(params: PyTree, prior: PyTree, key: RandomKey) -> Scalar:
        keys = jax.random.split(key, networks)
        predictions = posterior.predict(params, x, keys)  # [K, n, out]
        errors = predictions - jnp.broadcast_to(y[None, :, None], predictions.shape)
        fit_of_each = (errors**2).sum(axis=-1).mean(axis=-1)
        return jnp.sum(fit_of_each + posterior.penalty(params, prior, len(POINTS_X), keys))

    fit = make_fit(loss, adam(config.learning_rate))
    predict = eqx.filter_jit(posterior.predict)
    grid = jnp.asarray(GRID[:, None], dtype=float)

    def one_seed(seed: int) -> NDArray[Any]:
        # Each width and kind has keys of its own, so that no two networks share a weight.
        key = jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), width), networks)
        draw_key, fit_key, predict_key = jax.random.split(key, 3)
        params, prior = posterior.init(draw_key)
        params = fit(params, prior, fit_key, config.steps, lambda part: advance(part / config.seeds))
        return np.asarray(predict(params, grid, jax.random.split(predict_key, networks)), float)

    return np.stack([one_seed(seed) for seed in range(config.seeds)])


def run(config: Config, advance: Advance) -> Outcome:
    """Train both kinds at every width, then check the claims and draw the figure."""
    shapes = {"network": (1, MEMBERS), "ensemble": (MEMBERS, 1)}
    part = 1 / (len(config.widths) * len(shapes))
    tables: list[Table] = []
    for width in config.widths:
        for kind, (networks, outputs) in shapes.items():
            predictions = train(config, width, networks, outputs, lambda done: advance(done * part))
            # Members are the outputs or the networks: the other of the two axes has length one.
            members = np.moveaxis(predictions, 2, -1).reshape(config.seeds, MEMBERS, len(GRID))
            tables.append(_measure(width, kind, members))
    table = stack_tables(tables)
    by_width = compare(table)
    points = {"x": POINTS_X, "y": POINTS_Y}
    return Outcome(
        claims(by_width),
        {"data": table, "by_width": by_width, "points": points},
        figure.draw(table, by_width, points),
    )


def _measure(width: int, kind: str, members: NDArray[Any]) -> Table:
    """Mean and spread over members, `[seed, member, grid]`, at every grid point."""
    seeds, _, points = members.shape
    return {
        "width": np.full(seeds * points, width),
        "kind": np.full(seeds * points, kind),
        "seed": np.repeat(np.arange(seeds), points),
        "x": np.tile(GRID, seeds),
        "mean": members.mean(axis=1).reshape(-1),
        "sd": members.std(axis=1, ddof=1).reshape(-1),
    }


def output_correlation(mean_and_sd: NDArray[Any]) -> float:
    """Correlation of two outputs of one network over networks, `[seed, (mean, sd), grid]`.

    It is the intraclass correlation of a one-way analysis of variance. If the outputs of a network share
    something, their mean varies from network to network by more than their spread explains.
    """
    mean, sd = mean_and_sd[:, 0], mean_and_sd[:, 1]
    within = (sd**2).mean()
    shared = mean.var(axis=0, ddof=1).mean() - within / MEMBERS
    return float(shared / (shared + within))


def compare(table: Table) -> Table:
    """For each width: the spread of one network's outputs over the ensemble's, and their correlation."""
    widths: list[int] = np.unique(table["width"]).tolist()
    columns: dict[str, list[float]] = {}
    for width in widths:
        one, ensemble = (_mean_and_sd(table, width, kind) for kind in ("network", "ensemble"))
        ratios = one[:, 1].mean(axis=-1) / ensemble[:, 1].mean(axis=-1)
        _append(columns, "spread_ratio", ratio_estimate(ratios))
        _append(columns, "correlation", _correlation_estimate(one))
    return {"width": np.array(widths), **{name: np.array(values) for name, values in columns.items()}}


def _mean_and_sd(table: Table, width: int, kind: str) -> NDArray[Any]:
    rows = (table["width"] == width) & (table["kind"] == kind)
    return np.stack([table[name][rows].reshape(-1, len(GRID)) for name in ("mean", "sd")], axis=1)


def _correlation_estimate(mean_and_sd: NDArray[Any]) -> Estimate:
    if len(mean_and_sd) < 2:
        return Estimate(np.nan, None)
    return jackknife_estimate(output_correlation, mean_and_sd)


def _append(columns: dict[str, list[float]], name: str, estimate: Estimate) -> None:
    low, high = estimate.interval or (np.nan, np.nan)
    for column, value in ((name, estimate.measured), (f"{name}_low", low), (f"{name}_high", high)):
        columns.setdefault(column, []).append(value)


def claims(by_width: Table) -> list[Claim]:
    """The sentences of appendix C, checked over seeds."""

    def measured(name: str, width: int) -> dict[str, Any]:
        row = list(by_width["width"]).index(width)
        value, low, high = (float(by_width[name + end][row]) for end in ("", "_low", "_high"))
        return {"measured": value, "interval": None if np.isnan(low) else (low, high)}

    correlated = (
        "for a small neural network with only 10 neurons per layer the different outputs [...] are "
        "indeed strongly correlated, which leads to poor uncertainty estimates"
    )
    close = (
        "as we increase the width [...] to 100 the uncertainty estimates of the network with multiple "
        "outputs improve and become close to those obtained by the larger ensemble"
    )
    return [
        claim(
            "correlation of one network's outputs, width 10",
            paper=correlated,
            **measured("correlation", NARROW_WIDTH),
            criterion=above(0.2),
        ),
        claim(
            "spread over one network's outputs / over the ensemble, width 10",
            paper=correlated,
            **measured("spread_ratio", NARROW_WIDTH),
            criterion=below(0.8),
        ),
        claim(
            "correlation of one network's outputs, width 100",
            paper=close,
            **measured("correlation", WIDE_WIDTH),
            criterion=below(0.2),
        ),
        claim(
            "spread over one network's outputs / over the ensemble, width 100",
            paper=close,
            **measured("spread_ratio", WIDE_WIDTH),
            criterion=between(0.8, 1.25),
        ),
    ]


EXPERIMENT = DirectExperiment(
    name="widths",
    title="Appendix figure: one network with many outputs compared with an ensemble",
    intervals="95 % over seeds",
    tables=(
        "data",
        "by_width",
        "points",
    ),
    config=Config,
    run=run,
)
