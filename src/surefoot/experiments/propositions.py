"""Propositions 2.1, 2.2 and 2.3 by simulation, compared with posteriors that are known in closed form."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from surefoot.claims import Claim, Criterion, above, below, between, claim, recovers
from surefoot.experiments.base import Advance, DirectExperiment, ExperimentConfig, Outcome, Table
from surefoot.experiments.estimator_simulation import Case, EstimatorMoments, Simulation, simulate_estimators
from surefoot.experiments.normal_posterior import NormalPosterior, correlated, posterior_after
from surefoot.figures import propositions as figure
from surefoot.settings import bounded

STANDARD_ERRORS = 4
"""Half-width of every interval, in standard errors."""
ROUNDING = 1e-12
"""Error of the arithmetic, which is the smallest standard error."""
QUANTILE_COUNTS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
DRAW_COUNTS = (2, 3, 4, 8, 16, 32)
BALANCED_OBSERVATIONS = 2
"""The number of observations after which both uncertainties are about equal."""
EXTREME_OBSERVATIONS = (0, 1e12)
"""No data, and so much data that no epistemic uncertainty remains."""
CORRELATIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
DEFAULT_QUANTILES = 50
MIN_QUANTILES_FOR_SLOPE = 16
"""From this number of quantiles on, the limit shows in the slope."""

# Sentences of the paper, symbols spelled out.
BIASED_QUOTE = (
    "var_i[y_i(theta)] is a biased estimator of sigma_aleatoric^2 (Proposition 2.1); we do so by showing "
    "that E_theta[var_i[y_i(theta)]] is greater than sigma_aleatoric^2 (appendix B)"
)
SUM_QUOTE = "var_theta,i(y_i(theta)) = sigma_epistemic^2 + sigma_aleatoric^2 (Proposition 2.2)"
UNBIASED_QUOTE = (
    "sigma_epistemic and sigma_aleatoric [estimated from two networks] are unbiased estimators of "
    "sigma_epistemic and sigma_aleatoric (Proposition 2.3)"
)
CONVERGES_QUOTE = (
    "assuming that the network outputs are uncorrelated, the variance of these estimators converges "
    "towards 0 as the number of quantiles increases (Proposition 2.3)"
)
CORRELATED_QUOTE = (
    "correlations between outputs could cause for example a network to overestimate all the quantiles "
    "(appendix C)"
)
NO_DATA_QUOTE = (
    "in the absence of data, when all the uncertainty should be epistemic, we do find "
    "var_theta,i(y_i(theta)) = sigma_epistemic^2 (section 2.2.3)"
)
MUCH_DATA_QUOTE = (
    "in the limit of infinite data, when all the uncertainty should be aleatoric, we also find "
    "var_theta,i(y_i(theta)) = sigma_aleatoric^2 (section 2.2.3)"
)
MORE_DRAWS_QUOTE = (
    "estimating the variance and expectation over theta [...] requires in principle a large number of "
    "samples of theta, which is impractical (section 2.3)"
)


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """Propositions: how much is simulated."""

    seeds: int = bounded(5, at_least=1)
    """Independent streams of random numbers, pooled."""
    steps: int = bounded(20_000, at_least=100)
    """Simulated sets of posterior draws per seed, for each number of quantiles and draws."""


def run(config: Config, advance: Advance) -> Outcome:
    """Simulate every case, then check the claims and draw the figure."""
    cases = [
        *(Case("quantiles", n, posterior_after(BALANCED_OBSERVATIONS, n)) for n in QUANTILE_COUNTS),
        *(
            Case("draws", k, posterior_after(BALANCED_OBSERVATIONS, DEFAULT_QUANTILES), k)
            for k in DRAW_COUNTS
        ),
        *(Case("correlation", rho, correlated(rho)) for rho in CORRELATIONS),
        *(Case("observations", n, posterior_after(n, DEFAULT_QUANTILES)) for n in EXTREME_OBSERVATIONS),
    ]
    work = [case.draws * len(case.posterior.mean) for case in cases]
    simulations: list[Simulation] = []
    for stream, case in enumerate(cases):
        simulations.append(simulate_estimators(case, config.seeds, config.steps, stream))
        advance(work[stream] / sum(work))
    table = tabulate(simulations)
    curves = closed_forms()
    return Outcome(
        claims(simulations),
        {"data": table, "closed_form": curves},
        figure.draw(table, curves, config.seeds * config.steps),
    )


def tabulate(simulations: Sequence[Simulation]) -> Table:
    """A table with a row for each estimator and simulated case."""

    def rows(each: Simulation) -> Iterator[dict[str, Any]]:
        truth, draws = each.case.posterior, each.case.draws
        epistemic, aleatoric = truth.epistemic_variance, truth.aleatoric_variance
        for estimator, found, true_value, true_variance in (
            ("epistemic", each.epistemic, epistemic, truth.epistemic_estimator_variance(draws)),
            ("aleatoric", each.aleatoric, aleatoric, truth.aleatoric_estimator_variance(draws)),
            ("one network", each.one_network, aleatoric, np.nan),
        ):
            yield {
                "varied": each.case.varied,
                "value": each.case.value,
                "estimator": estimator,
                **found._asdict(),
                "truth": true_value,
                "variance_truth": true_variance,
            }

    all_rows = [row for each in simulations for row in rows(each)]
    return {name: np.array([row[name] for row in all_rows]) for name in all_rows[0]}


def closed_forms() -> Table:
    """The exact mean and variance of each estimator, at enough values to draw a line."""
    cases = [
        *(Case("quantiles", n, posterior_after(BALANCED_OBSERVATIONS, n)) for n in QUANTILE_COUNTS),
        *(
            Case("draws", k, posterior_after(BALANCED_OBSERVATIONS, DEFAULT_QUANTILES), k)
            for k in range(DRAW_COUNTS[0], DRAW_COUNTS[-1] + 1)
        ),
        # Densest towards 1, where the variance of the aleatoric estimator vanishes.
        *(Case("correlation", rho, correlated(rho)) for rho in 1 - np.linspace(1, 0, 41) ** 2),
    ]
    rows = [
        (varied, value, estimator, *truth)
        for varied, value, posterior, draws in cases
        for estimator, truth in (
            (
                "epistemic",
                (posterior.epistemic_variance, posterior.epistemic_estimator_variance(draws)),
            ),
            (
                "aleatoric",
                (posterior.aleatoric_variance, posterior.aleatoric_estimator_variance(draws)),
            ),
        )
    ]
    names = ("varied", "value", "estimator", "truth", "variance_truth")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


class Deviation(NamedTuple):
    """A simulated number compared with the exact one: a ratio, ideally 1, or a difference, ideally 0."""

    value: float
    error: float
    ideal: float


def ratio(simulated: float, error: float, truth: float) -> Deviation:
    """A simulated number divided by the exact one."""
    return Deviation(simulated / truth, max(error / truth, ROUNDING), 1)


def bias(found: EstimatorMoments, truth: float, posterior: NormalPosterior) -> Deviation:
    """The bias of an estimator, in units of the total variance."""
    total = posterior.epistemic_variance + posterior.aleatoric_variance
    return Deviation((found.mean - truth) / total, max(found.mean_error / total, ROUNDING), 0)


def worst(deviations: Iterable[Deviation]) -> dict[str, Any]:
    """Measurement and interval of the deviation that is largest in standard errors."""
    value, error, _ = max(deviations, key=lambda each: abs(each.value - each.ideal) / each.error)
    reach = STANDARD_ERRORS * error
    return {"measured": float(value), "interval": (float(value - reach), float(value + reach))}


def slope_over_quantiles(simulations: Iterable[Simulation], estimator: str) -> dict[str, Any]:
    """Measurement and interval of the slope of log variance over log N, for large N."""
    kept = [each for each in simulations if each.case.value >= MIN_QUANTILES_FOR_SLOPE]
    found: list[EstimatorMoments] = [getattr(each, estimator) for each in kept]
    log_counts = np.log([each.case.value for each in kept])
    log_variances = np.log([each.variance for each in found])
    errors = np.array([each.variance_error / each.variance for each in found])
    (slope, _), covariance = np.polyfit(log_counts, log_variances, 1, w=1 / errors, cov="unscaled")
    reach = STANDARD_ERRORS * np.sqrt(covariance[0, 0])
    return {"measured": float(slope), "interval": (float(slope - reach), float(slope + reach))}


def claims(simulations: Sequence[Simulation]) -> list[Claim]:
    """The sentences of section 2 that can be checked by simulation."""

    def varying(name: str) -> list[Simulation]:
        return [each for each in simulations if each.case.varied == name]

    def epistemic_bias(each: Simulation) -> Deviation:
        posterior = each.case.posterior
        return bias(each.epistemic, posterior.epistemic_variance, posterior)

    def aleatoric_bias(each: Simulation) -> Deviation:
        posterior = each.case.posterior
        return bias(each.aleatoric, posterior.aleatoric_variance, posterior)

    def epistemic_part(each: Simulation) -> Deviation:
        return bias(each.epistemic, 0.0, each.case.posterior)

    def epistemic_spread(each: Simulation) -> Deviation:
        truth = each.case.posterior.epistemic_estimator_variance(each.case.draws)
        return ratio(each.epistemic.variance, each.epistemic.variance_error, truth)

    def aleatoric_spread(each: Simulation) -> Deviation:
        truth = each.case.posterior.aleatoric_estimator_variance(each.case.draws)
        return ratio(each.aleatoric.variance, each.aleatoric.variance_error, truth)

    def excess_of_one_network(each: Simulation) -> Deviation:
        posterior = each.case.posterior
        excess = each.one_network.mean - posterior.aleatoric_variance
        return ratio(excess, each.one_network.mean_error, posterior.quantile_variance_bias)

    two_draws = varying("draws")[0]
    one_network = ratio(
        two_draws.one_network.mean,
        two_draws.one_network.mean_error,
        two_draws.case.posterior.aleatoric_variance,
    )
    mismatch = max(each.sum_mismatch for each in simulations)
    common_shift = varying("correlation")[-1]
    no_data, much_data = varying("observations")
    is_one, is_zero = recovers(1, 0.05), recovers(0, 0.02)

    def exact(value: float) -> dict[str, Any]:
        return {"measured": value, "interval": (value, value)}

    sentences: list[tuple[str, str, dict[str, Any], Criterion]] = [
        (
            "variance of one set of quantiles / aleatoric variance",
            BIASED_QUOTE,
            worst([one_network]),
            above(1),
        ),
        (
            "bias of one set of quantiles / its exact size, N = 2 ... 512",
            BIASED_QUOTE,
            worst(map(excess_of_one_network, varying("quantiles"))),
            is_one,
        ),
        ("total against epistemic + aleatoric, largest difference", SUM_QUOTE, exact(mismatch), below(1e-9)),
        (
            "bias of the epistemic estimator / total variance",
            UNBIASED_QUOTE,
            worst(map(epistemic_bias, simulations)),
            is_zero,
        ),
        (
            "bias of the aleatoric estimator / total variance",
            UNBIASED_QUOTE,
            worst(map(aleatoric_bias, simulations)),
            is_zero,
        ),
        (
            "variance of the epistemic estimator / closed form, N = 2 ... 512",
            CONVERGES_QUOTE,
            worst(map(epistemic_spread, varying("quantiles"))),
            is_one,
        ),
        (
            "variance of the aleatoric estimator / closed form, N = 2 ... 512",
            CONVERGES_QUOTE,
            worst(map(aleatoric_spread, varying("quantiles"))),
            is_one,
        ),
        (
            "slope of log variance over log N >= 16, epistemic",
            CONVERGES_QUOTE,
            slope_over_quantiles(varying("quantiles"), "epistemic"),
            between(-1.05, -0.95),
        ),
        (
            "slope of log variance over log N >= 16, aleatoric",
            CONVERGES_QUOTE,
            slope_over_quantiles(varying("quantiles"), "aleatoric"),
            between(-1.05, -0.95),
        ),
        (
            "common shift of all quantiles: variance of the epistemic estimator / 2 v^2",
            CORRELATED_QUOTE,
            worst([epistemic_spread(common_shift)]),
            is_one,
        ),
        (
            "common shift of all quantiles: variance of the aleatoric estimator",
            CORRELATED_QUOTE,
            exact(common_shift.aleatoric.variance),
            below(1e-12),
        ),
        (
            "bias under correlation 0 ... 1, epistemic / total",
            CORRELATED_QUOTE,
            worst(map(epistemic_bias, varying("correlation"))),
            is_zero,
        ),
        (
            "bias under correlation 0 ... 1, aleatoric / total",
            CORRELATED_QUOTE,
            worst(map(aleatoric_bias, varying("correlation"))),
            is_zero,
        ),
        ("no data: aleatoric part of the total", NO_DATA_QUOTE, worst([aleatoric_bias(no_data)]), is_zero),
        (
            "1e12 observations: epistemic part of the total",
            MUCH_DATA_QUOTE,
            worst([epistemic_part(much_data)]),
            below(1e-6),
        ),
        (
            "K = 2 ... 32 draws: variance of the epistemic estimator / closed form",
            MORE_DRAWS_QUOTE,
            worst(map(epistemic_spread, varying("draws"))),
            is_one,
        ),
        (
            "K = 2 ... 32 draws: variance of the aleatoric estimator / closed form",
            MORE_DRAWS_QUOTE,
            worst(map(aleatoric_spread, varying("draws"))),
            is_one,
        ),
    ]
    return [
        claim(name, paper=paper, **measured, criterion=criterion)
        for name, paper, measured, criterion in sentences
    ]


EXPERIMENT = DirectExperiment(
    name="propositions",
    title="Propositions 2.1, 2.2 and 2.3 compared with closed-form posteriors",
    intervals="4 standard errors either side",
    tables=("data", "closed_form"),
    config=Config,
    run=run,
    empirical=False,
)
