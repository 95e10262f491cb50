"""Posteriors compared, on the toy regression of Figure 1 and on the six points of the appendix.

The paper allows any one of several methods to sample networks from the posterior, and tries one. Here each
learns the same data. Scores are on new data. That of pairs shows what marginal scores cannot: whether a draw
is wrong about two observations in the same way, which is what Thompson sampling depends on.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from surefoot import estimators
from surefoot.claims import Claim, above, between, claim
from surefoot.experiments import toy
from surefoot.experiments.base import (
    Advance,
    ExperimentConfig,
    Outcome,
    StoredExperiment,
    Table,
    chosen_names,
    names_from,
)
from surefoot.experiments.parts import Part, Parts, Tables
from surefoot.experiments.posterior_tasks import DRAWS, TASKS, Fitted, settings_of
from surefoot.experiments.predictive_scores import crps, normal_nll, pair_nll
from surefoot.figures import posteriors as figure
from surefoot.posteriors import POSTERIORS
from surefoot.settings import bounded
from surefoot.statistics import mean_estimate, ratio_estimate
from surefoot.tables import stack_tables

SCORES = ("nll", "crps", "pair_nll", "pair_gain", "seconds_per_update")
NOISE_LEVELS = stats.norm.ppf((np.arange(50) + 0.5) / 50)
"""Quantiles of a standard normal: known noise as samples."""


@dataclass(frozen=True, kw_only=True)
class Config(ExperimentConfig):
    """Posteriors: which are compared, how long they learn, and how often."""

    seeds: int = bounded(5, at_least=1)
    """Independent data sets and fits of each posterior."""
    steps: int = bounded(10_000, at_least=10)
    """Steps of Adam on the toy regression; a fifth of them on the six points."""
    posteriors: str = names_from(",".join(POSTERIORS), POSTERIORS)
    """Posteriors to compare, with commas between."""


def run(config: Config, advance: Advance, parts: Parts) -> Outcome:
    """Fit every posterior to every task; what was fitted before is read from disk."""
    names = chosen_names("posteriors", config.posteriors, POSTERIORS)
    work = [
        Part(
            f"{task.replace(' ', '-')}-{name}-seed{seed}",
            {"steps": config.steps, "draws": DRAWS, "settings": settings_of(task, name)},
            partial(compute, task, name, seed, config.steps),
        )
        for seed, task, name in product(range(config.seeds), TASKS, names)
    ]
    found = parts.all_tables(work, advance)
    table, shown = (stack_tables([each[name] for each in found]) for name in ("scores", "curves"))
    means = summarise(table)
    return Outcome(
        claims(table),
        {"data": table, "means": means, "curves": shown},
        figure.draw(shown, means),
    )


def compute(task: str, name: str, seed: int, steps: int, advance: Advance) -> Tables:
    """Scores and curves of one fit."""
    fitted = TASKS[task].fit(name, seed, steps, advance)
    return {"scores": scores(task, name, seed, fitted), "curves": curves(task, name, seed, fitted)}


def moments(outputs: NDArray[Any], known_noise: float | None) -> tuple[NDArray[Any], ...]:
    """Mean, variance of the draws' means and noise variance at each point, from draws `[K, ..., N]`."""
    means = outputs.mean(axis=-1)
    noise = (
        outputs.var(axis=-1).mean(axis=0) if known_noise is None else np.full(means.shape[1:], known_noise)
    )
    return means.mean(axis=0), means.var(axis=0, ddof=1), noise


def epistemic_variance(fitted: Fitted) -> NDArray[Any]:
    """The epistemic variance on the grid, by eq. 7 where quantiles are learned."""
    if fitted.noise_variance is not None:
        return fitted.on_grid[..., 0].var(axis=0, ddof=1)
    return np.asarray(estimators.decompose(fitted.on_grid).epistemic)


def aleatoric_variance(fitted: Fitted) -> NDArray[Any]:
    """The noise on the grid, by eq. 7 where it is learned."""
    if fitted.noise_variance is not None:
        return np.full(fitted.on_grid.shape[1], fitted.noise_variance)
    return np.asarray(estimators.decompose(fitted.on_grid).aleatoric)


def scores(task: str, name: str, seed: int, fitted: Fitted) -> Table:
    """One row: what the paper says of Figure 1, and scores on new data."""
    near, far = TASKS[task].near, TASKS[task].far
    epistemic = epistemic_variance(fitted)
    mean, unknown, noise = moments(fitted.at_new, fitted.noise_variance)
    samples = fitted.at_new
    if fitted.noise_variance is not None:
        samples = samples + np.sqrt(fitted.noise_variance) * NOISE_LEVELS
    pair_mean, pair_unknown, pair_noise = moments(fitted.at_pairs, fitted.noise_variance)  # [2, n]
    apart = 2 * normal_nll(fitted.pair_y, pair_mean, pair_unknown + pair_noise)
    together = pair_nll(fitted.pair_y, fitted.at_pairs.mean(axis=-1), pair_noise)
    numbers = {
        "epistemic_near": np.sqrt(epistemic[near].mean()),
        "epistemic_far": np.sqrt(epistemic[far].mean()),
        "aleatoric_near": np.sqrt(max(aleatoric_variance(fitted)[near].mean(), 0)),
        "nll": normal_nll(fitted.new_y, mean, unknown + noise),
        "crps": crps(fitted.new_y, np.moveaxis(samples, -1, 1).reshape(-1, len(fitted.new_y))),
        "pair_nll": together,
        "pair_gain": apart - together,
        "seconds_per_update": fitted.seconds_per_update,
    }
    return {
        "task": np.array([task]),
        "posterior": np.array([name]),
        "seed": np.array([seed]),
        **{column: np.array([float(value)]) for column, value in numbers.items()},
    }


def curves(task: str, name: str, seed: int, fitted: Fitted) -> Table:
    """Mean and both variances on the grid, for the figure."""
    mean = fitted.on_grid.mean(axis=(0, -1))
    count = len(mean)
    return {
        "task": np.full(count, task),
        "posterior": np.full(count, name),
        "seed": np.full(count, seed),
        "x": TASKS[task].grid,
        "has_data": TASKS[task].near,
        "truth": np.asarray(TASKS[task].truth(TASKS[task].grid), float),
        "mean": mean,
        "epistemic_variance": epistemic_variance(fitted),
        "aleatoric_variance": aleatoric_variance(fitted),
    }


def summarise(table: Table) -> Table:
    """A row for each task and posterior: means over seeds."""
    keys = list(dict.fromkeys(zip(table["task"].tolist(), table["posterior"].tolist(), strict=True)))
    rows: list[dict[str, float]] = []
    for task, name in keys:
        chosen = (table["task"] == task) & (table["posterior"] == name)
        ratios = table["epistemic_far"][chosen] / table["epistemic_near"][chosen]
        is_toy = task == "toy"  # Elsewhere the noise is given.
        rows.append(
            {
                "epistemic_ratio": float(np.exp(np.log(ratios).mean())),
                "aleatoric_error": float(table["aleatoric_near"][chosen].mean() - toy.NOISE)
                if is_toy
                else float("nan"),
                **{column: float(table[column][chosen].mean()) for column in SCORES},
            }
        )
    return {
        "task": np.array([task for task, _ in keys]),
        "posterior": np.array([name for _, name in keys]),
        **{column: np.array([row[column] for row in rows]) for column in rows[0]},
    }


def claims(table: Table) -> list[Claim]:
    """The two sentences of the paper about Figure 1, for each posterior."""
    found: list[Claim] = []
    for name in dict.fromkeys(table["posterior"].tolist()):
        rows = (table["posterior"] == name) & (table["task"] == "toy")
        found += [
            claim(
                f"{name}: epistemic sd, far from the data / at the data",
                paper="sigma_epistemic is small close to the data but large far from it",
                **ratio_estimate(table["epistemic_far"][rows] / table["epistemic_near"][rows])._asdict(),
                criterion=above(3),
            ),
            claim(
                f"{name}: aleatoric sd at the data (true noise 0.333)",
                paper="sigma_aleatoric correctly captures the noise in the data",
                **mean_estimate(table["aleatoric_near"][rows])._asdict(),
                criterion=between(0.85 * toy.NOISE, 1.15 * toy.NOISE),
            ),
        ]
    return found


EXPERIMENT = StoredExperiment(
    name="posteriors",
    title="Posteriors compared: Figure 1's two sentences, and scores on new data",
    intervals="95 % over seeds",
    tables=("data", "means", "curves"),
    config=Config,
    run=run,
)
