"""What handing over changes: the same episodes with and without it, over budgets."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.cautious.playing import Playthrough
from surefoot.cautious.policy import Cautious
from surefoot.envs.resolve import EnvLike
from surefoot.statistics import Estimate, fraction_estimate, mean_estimate
from surefoot.training.evaluation import MAX_EPISODE_STEPS

BUDGETS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
"""Budgets of the curve."""


class AtBudget(NamedTuple):
    """The same episodes, played with one budget."""

    cautious: Cautious
    played: Playthrough

    @property
    def quantities(self) -> dict[str, Estimate]:
        """Mean return, and for each event of the environment the share of episodes that had it."""
        found = self.played.evaluation
        events = {name: fraction_estimate(count > 0) for name, count in found.events.items()}
        return {"return": mean_estimate(found.returns), **events}


def at_budgets(cautious: Cautious, budgets: Iterable[float] = BUDGETS) -> list[Cautious]:
    """The same policy with each budget, after `fit`."""
    return [cautious.at_budget(budget) for budget in sorted(set(budgets))]


def play_each(
    policies: Iterable[Cautious],
    *,
    episodes: int = 100,
    env: EnvLike | None = None,
    seed: int | None = None,
    max_episode_steps: int = MAX_EPISODE_STEPS,
    after_episode: Callable[[], None] = lambda: None,
) -> list[AtBudget]:
    """Play the same episodes with each policy."""
    return [
        AtBudget(
            policy,
            policy.evaluate(
                episodes,
                env=env,
                seed=seed,
                max_episode_steps=max_episode_steps,
                after_episode=after_episode,
            ),
        )
        for policy in policies
    ]


def as_table(results: Iterable[AtBudget], group: str = "") -> dict[str, NDArray[Any]]:
    """The columns of the curve: a row for each budget and quantity, with its interval."""
    rows: list[tuple[Any, ...]] = []
    for each in results:
        thresholds = each.cautious.thresholds
        for name, (measured, interval) in each.quantities.items():
            ends = interval or (measured, measured)
            rate = each.played.hand_over_rate
            rows.append((group, name, each.cautious.budget, rate, measured, *ends, *thresholds))
    names = ("group", "quantity", "budget", "rate", "measured", "low", "high", "hand_over", "hand_back")
    return {name: np.array(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}
