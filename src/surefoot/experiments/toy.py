"""Figure 1: both uncertainties on a toy regression, from two networks of 50 quantiles.

Departure: the paper shows one seed; here every number is a mean over seeds, each with data of its own. With
`posterior` the networks are sampled in another way than the paper's.
"""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree
from numpy.typing import NDArray

from surefoot import estimators
from surefoot.claims import Claim, above, below, between, claim, exact_claim
from surefoot.experiments.base import (
    Advance,
    DirectExperiment,
    ExperimentConfig,
    Outcome,
    Table,
)
from surefoot.experiments.regression import Loss, make_fit
from surefoot.figures import toy as figure
from surefoot.layers import orthogonal
from surefoot.losses import quantile_levels, quantile_loss
from surefoot.networks import mlp
from surefoot.optimisers import adam
from surefoot.posteriors import POSTERIORS, anchored
from surefoot.settings import bounded, checked
from surefoot.statistics import Estimate, jackknife_estimate, mean_estimate, ratio_estimate
from surefoot.tables import stack_tables
from surefoot.types import MakeNetwork, NetworkFactory, Posterior, RandomKey, Scalar

NOISE = 1 / 3
"""Standard deviation of the noise in the data."""
CLUSTERS = ((-1.0, 1 / 4), (0.5, 1 / 6))
"""Mean and standard deviation of x in each half of the data."""
GRID = np.linspace(-2.5, 1.5, 201)
QUANTILES = 50
HIDDEN_WIDTHS = (200, 200)
PRIOR_GAIN = 7.0
"""Gain of the orthogonal anchors of the paper's posterior."""
DRAWS = 4
"""The paper's two networks, and two more for an independent estimate from the same data."""

PAPER_POSTERIOR = "anchored"

SETTINGS: dict[str, dict[str, Any]] = {
    # The loss is a mean over quantiles: sigma_D / N is the scale of eq. 3 for it.
    "bayes-by-backprop": {"variational_gain": PRIOR_GAIN, "variational_noise_scale": NOISE / QUANTILES},
    "ensemble": {"ensemble_gain": PRIOR_GAIN},
    "prior-functions": {
        "trained_gain": PRIOR_GAIN,
        "prior_function_gain": PRIOR_GAIN,
        "prior_function_scale": 1.0,
    },
    "epinet": {"base_gain": PRIOR_GAIN},
}
"""Settings of other posteriors that are not their defaults: networks start as the paper's do.

Not with dropout: masks of weights as large as these are noise that is never learned away."""

AT_DATA = np.any([np.abs(GRID - mean) < std for mean, std in CLUSTERS], axis=0)
"""Which grid points lie within one standard deviation of the middle of a cluster."""
FAR_FROM_DATA = np.all([np.abs(GRID - mean) > 4 * std for mean, std in CLUSTERS], axis=0)
"""Which grid points lie beyond four standard deviations of both clusters."""


def require_posterior(field: str, name: str) -> None:
    """Refuse a name of no posterior."""
    del field  # The registry names it.
    POSTERIORS.resolve(name)


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """Toy regression: the settings of Figure 1."""

    seeds: int = bounded(10, at_least=1)
    """Independent data sets, each with networks of its own."""
    steps: int = bounded(10_000, at_least=1)
    """Steps of Adam."""
    points: int = bounded(200, at_least=2)
    """Data points, half in each cluster."""
    batch: int = bounded(64, at_least=1)
    """Points per Adam step."""
    learning_rate: float = bounded(2e-4, above=0)
    """Learning rate of Adam."""
    posterior: str = checked(PAPER_POSTERIOR, require_posterior)
    """How networks are sampled: anchored (the paper's), mc-dropout, bayes-by-backprop, ensemble,
    prior-functions, epinet, or package.module:name."""
    anchor_weight: float = bounded(1e-4, above=0)
    """How strongly the anchored posterior pulls each network to its initial weights."""


def networks() -> NetworkFactory:
    """A maker of the paper's tanh networks, for any posterior."""

    def make(*, gain: float, dropout: float) -> MakeNetwork:
        layer = orthogonal(gain)
        return mlp(1, HIDDEN_WIDTHS, (QUANTILES,), layer=layer, activation=jnp.tanh, dropout=dropout)

    return NetworkFactory(make, jnp.ravel, jax.ShapeDtypeStruct((1,), float), (QUANTILES,))


def make_posterior(config: Config, draws: int = DRAWS) -> Posterior:
    """The posterior that the settings name; the paper's has its own prior and its own constant pull."""
    if config.posterior == PAPER_POSTERIOR:
        network, weight = networks()(gain=PRIOR_GAIN), config.anchor_weight
        return anchored.anchored_posterior(network, draws, weight=lambda _scale, _count: weight)
    kind = POSTERIORS.resolve(config.posterior)
    return kind.make(kind.config(**SETTINGS.get(config.posterior, {})), networks(), draws)


def make_loss(config: Config, posterior: Posterior) -> Loss:
    """The loss of all draws on a batch, from parameters and (x, y, prior)."""
    draws, levels = posterior.draws, quantile_levels(QUANTILES)

    def loss(params: PyTree, data: Any, key: RandomKey) -> Scalar:
        x, y, prior = data
        batch_key, *draw_keys = jax.random.split(key, 1 + draws)
        keys = jnp.stack(draw_keys)
        rows = jax.random.randint(batch_key, (config.batch,), 0, config.points)
        quantiles = posterior.predict(params, x[rows], keys)  # [K, B, N]
        targets = jnp.broadcast_to(y[rows][None, :, None], (draws, config.batch, 1))
        fit_of_each = quantile_loss(quantiles, targets, levels).mean(axis=-1) / QUANTILES
        return jnp.sum(fit_of_each + posterior.penalty(params, prior, config.points, keys))

    return loss


def make_data(key: RandomKey, points: int) -> tuple[Float[Array, "n 1"], Float[Array, "n"]]:
    """Data: two clusters of x, and y = cos(2 pi x) + noise."""
    position_key, noise_key = jax.random.split(key)
    half = jnp.arange(points) < points // 2
    (left, left_std), (right, right_std) = CLUSTERS
    x = jax.random.normal(position_key, (points,))
    x = jnp.where(half, left + left_std * x, right + right_std * x)
    return x[:, None], jnp.cos(2 * jnp.pi * x) + NOISE * jax.random.normal(noise_key, (points,))


def run(config: Config, advance: Advance) -> Outcome:
    """Train every seed, then check the claims and draw the figure."""
    posterior = make_posterior(config)
    fit = make_fit(make_loss(config, posterior), adam(config.learning_rate))
    predict = eqx.filter_jit(posterior.predict)
    measured: list[Table] = []
    points: list[Table] = []
    for seed in range(config.seeds):
        data_key, draw_key, fit_key, predict_key = jax.random.split(jax.random.key(seed), 4)
        x, y = make_data(data_key, config.points)
        params, prior = posterior.init(draw_key)
        params = fit(params, (x, y, prior), fit_key, config.steps, lambda part: advance(part / config.seeds))
        inputs = jnp.asarray(GRID[:, None], dtype=x.dtype)
        draws = predict(params, inputs, jax.random.split(predict_key, DRAWS))
        measured.append(measure(seed, np.asarray(draws, dtype=float)))
        points.append({"seed": np.full(config.points, seed), "x": np.asarray(x[:, 0]), "y": np.asarray(y)})
    table, data = stack_tables(measured), stack_tables(points)
    sampler = "two networks"
    if config.posterior != PAPER_POSTERIOR:
        sampler = f"two draws of {config.posterior}"
    return Outcome(
        claims(table),
        {"data": table, "points": data},
        figure.draw(table, data, sampler),
    )


def measure(seed: int, draws: NDArray[Any]) -> Table:
    """The rows of one seed in the table, from the quantiles of its draws, `[4, grid, N]`."""
    y_a, y_b, *others = draws
    variances = estimators.decompose(draws[:2])
    return {
        "seed": np.full(len(GRID), seed),
        "x": GRID,
        "mean": (y_a + y_b).mean(axis=-1) / 2,
        "epistemic_variance": variances.epistemic,
        "aleatoric_variance": variances.aleatoric,
        "total_variance": variances.total,
        "quantile_variance": estimators.quantile_variance(y_a),
        "other_aleatoric_variance": estimators.aleatoric_variance(*others),
        # Without the estimators, as a check: variance within the networks and between their means.
        "pooled_variance": (y_a.var(axis=-1) + y_b.var(axis=-1)) / 2
        + (y_a.mean(axis=-1) - y_b.mean(axis=-1)) ** 2 / 2,
    }


def claims(table: Table) -> list[Claim]:
    """The sentences of section 2.3 and of Figure 1's caption, checked over seeds."""
    by_seed = {name: column.reshape(-1, len(GRID)) for name, column in table.items()}

    def mean_at(region: NDArray[Any], name: str) -> NDArray[Any]:
        return by_seed[name][:, region].mean(axis=1)

    def share_of_epistemic(name: str) -> Estimate:
        """The fraction of the epistemic variance, far from the data, that an aleatoric estimate contains."""
        excess = mean_at(FAR_FROM_DATA, name) - mean_at(FAR_FROM_DATA, "other_aleatoric_variance")
        pairs = np.stack([excess, mean_at(FAR_FROM_DATA, "epistemic_variance")], axis=1)
        return jackknife_estimate(lambda rows: rows[:, 0].mean() / rows[:, 1].mean(), pairs)

    epistemic_far = np.sqrt(mean_at(FAR_FROM_DATA, "epistemic_variance"))
    epistemic_near = np.sqrt(mean_at(AT_DATA, "epistemic_variance"))
    aleatoric_near = np.sqrt(np.maximum(mean_at(AT_DATA, "aleatoric_variance"), 0))
    mismatch = np.max(np.abs(table["pooled_variance"] / table["total_variance"] - 1))
    captures = "sigma_aleatoric correctly captures the noise in the data"
    conflates = (
        "for out-of-distribution data [...] such a metric is not a good indicator of aleatoric "
        "uncertainty as it conflates both uncertainties"
    )
    return [
        claim(
            "epistemic sd, far from the data / at the data",
            paper="sigma_epistemic is small close to the data but large far from it",
            **ratio_estimate(epistemic_far / epistemic_near)._asdict(),
            criterion=above(3),
        ),
        claim(
            "aleatoric sd at the data (true noise 0.333)",
            paper=captures,
            **mean_estimate(aleatoric_near)._asdict(),
            criterion=between(0.85 * NOISE, 1.15 * NOISE),
        ),
        claim(
            "part of the epistemic variance in one network's quantile variance, far from the data",
            paper=conflates,
            **share_of_epistemic("quantile_variance")._asdict(),
            criterion=above(0.5),
        ),
        claim(
            "part of the epistemic variance in the covariance of two networks, far from the data",
            paper="practical, unbiased estimators for both types of uncertainty",
            **share_of_epistemic("aleatoric_variance")._asdict(),
            criterion=between(-0.5, 0.5),
        ),
        exact_claim(
            "largest relative difference of total^2 and its parts' sum",
            paper="sigma_total^2 = sigma_aleatoric^2 + sigma_epistemic^2",
            measured=mismatch,
            criterion=below(1e-6),
        ),
    ]


EXPERIMENT = DirectExperiment(
    name="toy",
    title="Figure 1: both uncertainties on a toy regression",
    intervals="95 % over seeds",
    tables=(
        "data",
        "points",
    ),
    config=Config,
    run=run,
)
