"""Simulations of the estimators' sampling errors, with draws from a posterior that is known exactly."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot import estimators
from surefoot.experiments.normal_posterior import NormalPosterior


class Case(NamedTuple):
    """One simulated case: a posterior and a number of draws, and which quantity is varied to which value."""

    varied: str
    value: float
    posterior: NormalPosterior
    draws: int = 2


class EstimatorMoments(NamedTuple):
    """Mean and variance of an estimator, with their standard errors."""

    mean: float
    mean_error: float
    variance: float
    variance_error: float


class Simulation(NamedTuple):
    """The moments of the estimators over many sets of draws."""

    case: Case
    epistemic: EstimatorMoments
    aleatoric: EstimatorMoments
    one_network: EstimatorMoments
    """EstimatorMoments of the variance of the first draw's quantiles, the biased estimator."""
    sum_mismatch: float
    """Largest relative difference of the two sides of eq. 6, each set of draws taken as a posterior."""


def simulate_estimators(case: Case, seeds: int, steps: int, stream: int) -> Simulation:
    """Estimate from `steps` independent sets of draws per seed; each `stream` has its own random numbers."""
    results: list[tuple[NDArray[Any], ...]] = []
    for seed in range(seeds):
        rng = np.random.default_rng([seed, stream])
        for count in _chunks(steps, case.draws * len(case.posterior.mean)):
            draws = case.posterior.sample(rng, case.draws, count)
            epistemic, aleatoric, _ = estimators.decompose(draws)
            one_network = estimators.quantile_variance(draws[0])
            results.append((epistemic, aleatoric, one_network, _sum_mismatch(draws)))
    epistemic, aleatoric, one_network, mismatch = map(np.concatenate, zip(*results, strict=True))
    return Simulation(
        case, _moments(epistemic), _moments(aleatoric), _moments(one_network), float(mismatch.max())
    )


def _chunks(steps: int, numbers_per_step: int) -> Iterator[int]:
    """Sizes of the chunks that `steps` are split into, each small in memory."""
    size = max(1, 1_000_000 // numbers_per_step)
    return (min(size, steps - start) for start in range(0, steps, size))


def _sum_mismatch(draws: NDArray[Any]) -> NDArray[Any]:
    epistemic = estimators.posterior_epistemic_variance(draws)
    aleatoric = estimators.posterior_aleatoric_variance(draws)
    return np.abs((epistemic + aleatoric) / estimators.posterior_total_variance(draws) - 1)


def _moments(values: NDArray[Any]) -> EstimatorMoments:
    """Sample moments; the error of the variance comes from the fourth moment."""
    squares = (values - values.mean()) ** 2
    variance = float(squares.mean())
    return EstimatorMoments(
        float(values.mean()),
        float(np.sqrt(variance / len(values))),
        variance,
        float(squares.std() / np.sqrt(len(values))),
    )
