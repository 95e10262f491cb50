"""What the paper says of Figure 2, checked over the seeds of the windy cliff."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.claims import Claim, above, below, between, claim, exact_claim
from surefoot.envs import windy_cliff, windy_cliff_exact
from surefoot.envs.windy_cliff_exact import PolicyTable
from surefoot.experiments.base import Table
from surefoot.statistics import Estimate, fraction_estimate, mean_estimate

LABELS = ("QR-DQN", "UA-DQN risk-neutral", "UA-DQN variant 1", "UA-DQN variant 2")
"""Names of the agents in tables and claims."""
QR_DQN, NEUTRAL, VARIANT_1, VARIANT_2 = LABELS

LATE_STEPS = 2_000
"""The number of last steps, in which the trained agent's falls are counted by cause."""
STAYS = 0.9
"""The part of the looks at the last `LATE_STEPS` steps that must find a seed on a path: one look flickers."""
MANY_FALLS = 3
"""A seed with this many times the median falls counts as stuck."""
EARLY_STEPS = (500, 2_000)
"""The first and the last of the early steps of learning."""

RISKY_POLICY = np.full((15, 2, 5), windy_cliff.RIGHT)
"""The policy table of the path along the ledge."""
SAFE_POLICY = RISKY_POLICY.copy()
"""The policy table of the path above the ledge."""
SAFE_POLICY[:, 1, 0], SAFE_POLICY[:, 0, 4] = windy_cliff.UP, windy_cliff.DOWN


class Results:
    """The table by agent: each column as an array `[seed, log entry]`."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.seeds = len(np.unique(table["seed"]))
        self.steps = table["step"][(table["agent"] == LABELS[0]) & (table["seed"] == 0)]
        self._is_late = self.steps > self.steps[-1] - LATE_STEPS

    def column(self, label: str, name: str) -> NDArray[Any]:
        """A column of one agent's rows."""
        return self._table[name][self._table["agent"] == label].reshape(self.seeds, -1)

    def falls(self, label: str) -> NDArray[Any]:
        """Falls so far, by wind or by a step off the cliff."""
        return self.column(label, "wind_falls") + self.column(label, "step_falls")

    def late_increase(self, label: str, name: str) -> NDArray[Any]:
        """How much a count grew during the last `LATE_STEPS` steps, for each seed."""
        values = self.column(label, name)
        before = np.searchsorted(self.steps, self.steps[-1] - LATE_STEPS)
        return values[:, -1] - values[:, min(before, len(self.steps) - 1)]

    def late_mean(self, label: str, name: str) -> NDArray[Any]:
        """The mean of a column over the last `LATE_STEPS` steps, for each seed."""
        return self.column(label, name)[:, self._is_late].mean(axis=1)

    def stays_on(self, label: str, path: str) -> NDArray[Any]:
        """Whether a seed was on this path in nine of ten looks at the last `LATE_STEPS` steps."""
        return np.mean(self.column(label, "path")[:, self._is_late] == path, axis=1) >= STAYS

    def settled_step(self, label: str, paths: Sequence[str]) -> NDArray[Any]:
        """The step from which a seed's path is always one of these; the last step if it never is."""
        is_among = np.isin(self.column(label, "path"), paths)
        # The number of entries in a row, counted from the end, whose path is one of these.
        streak = np.cumprod(is_among[:, ::-1], axis=1).sum(axis=1)
        first = np.minimum(len(self.steps) - streak, len(self.steps) - 1)
        return self.steps[first]


def claims(table: Table) -> list[Claim]:
    """The sentences of section 3.1, checked over seeds."""
    results = Results(table)
    solved, safe = ("safe", "risky"), ("safe",)
    late_steps = f"the last {LATE_STEPS} steps"
    first, last = EARLY_STEPS
    early, early_steps = (results.steps >= first) & (results.steps <= last), f"steps {first} to {last}"

    def ends_on(label: str, paths: Sequence[str]) -> NDArray[Any]:
        return np.isin(results.column(label, "path")[:, -1], paths)

    def more_falls(one: str, other: str) -> Estimate:
        return mean_estimate((results.falls(one) - results.falls(other))[:, -1])

    def stuck(label: str) -> NDArray[Any]:
        falls = results.falls(label)[:, -1]
        return falls > MANY_FALLS * np.median(falls)

    def share(label: str, cause: str) -> Estimate:
        part = results.late_increase(label, f"{cause}_falls")
        total = results.late_increase(label, "wind_falls") + results.late_increase(label, "step_falls")
        return mean_estimate(part[total > 0] / total[total > 0]) if np.any(total) else Estimate(np.nan, None)

    def exact_mean_return(policy_table: PolicyTable) -> float:
        return float(windy_cliff_exact.exact_returns(policy_table).mean[0, 1, 0])

    exact_sd = float(windy_cliff_exact.exact_returns(RISKY_POLICY).sd[0, 1, 0])
    overestimate = results.column(VARIANT_1, "aleatoric_up") - results.column(VARIANT_2, "aleatoric_up")
    solved_from = np.stack([results.settled_step(label, solved) for label in LABELS]).max(axis=0)
    all_solve = all(np.all(ends_on(label, solved)) for label in LABELS)
    expectation = (
        "the expectation value of the returns of the risky trajectory is 4.8, while for the safe one it is 4"
    )
    quickly = "all algorithms quickly learn to solve this simple task"
    order = (
        "QR-DQN falls off the most [...] variant 1 accumulates more falls during learning than variant 2 "
        "[...] variant 2 is the least likely to fall off the cliff during learning"
    )
    only = "risk-neutral UA-DQN only falls off the cliff due to its use of the risky trajectory"
    both = "both risk-averse variants of UA-DQN learn to use the safe trajectory"
    longer = (
        "variant 1 overestimates aleatoric uncertainty [...], takes longer to identify the safe trajectory"
    )
    unbiased = "practical, unbiased estimators for both types of uncertainty"
    computed = [
        ("exact mean return of the risky path", exact_mean_return(RISKY_POLICY), between(4.8, 4.9)),
        ("exact mean return of the safe path", exact_mean_return(SAFE_POLICY), between(4, 4)),
    ]
    measurements = [
        *(
            (
                f"seeds that reach the goal in the end, {label}",
                quickly,
                fraction_estimate(ends_on(label, solved)),
                above(0.85),
            )
            for label in LABELS
        ),
        (
            "step from which all four always reach the goal",
            quickly,
            mean_estimate(solved_from) if all_solve else Estimate(np.inf, None),
            below(5_000),
        ),
        ("falls: QR-DQN less risk-neutral", order, more_falls(QR_DQN, NEUTRAL), above(0)),
        ("falls: risk-neutral less variant 1", order, more_falls(NEUTRAL, VARIANT_1), above(0)),
        ("falls: risk-neutral less variant 2", order, more_falls(NEUTRAL, VARIANT_2), above(0)),
        ("falls: variant 1 less variant 2", order, more_falls(VARIANT_1, VARIANT_2), above(0)),
        (
            f"risk-neutral: part of {late_steps}' falls by wind",
            only,
            share(NEUTRAL, "wind"),
            above(0.9),
        ),
        (
            f"QR-DQN: part of {late_steps}' falls by stepping off",
            order,
            share(QR_DQN, "step"),
            above(0.05),
        ),
        *(
            (f"seeds on the {name} in {late_steps}, {who}", sentence, fraction_estimate(stays), above(0.85))
            for name, who, sentence, stays in (
                ("ledge", "risk-neutral", only, results.stays_on(NEUTRAL, "risky")),
                ("safe path", "variant 1", both, results.stays_on(VARIANT_1, "safe")),
                ("safe path", "variant 2", both, results.stays_on(VARIANT_2, "safe")),
            )
        ),
        (
            f"seeds with more than {MANY_FALLS} times the median falls, variant 2",
            order,
            fraction_estimate(stuck(VARIANT_2)),
            below(0.15),
        ),
        (
            f"aleatoric sd of going up (exact 0), {early_steps}: variant 1 less variant 2",
            longer,
            mean_estimate(overestimate[:, early].mean(axis=1)) if np.any(early) else Estimate(np.nan, None),
            above(0),
        ),
        (
            "step from which the path is always safe: variant 1 less variant 2",
            longer,
            mean_estimate(results.settled_step(VARIANT_1, safe) - results.settled_step(VARIANT_2, safe)),
            above(0),
        ),
        (
            f"aleatoric sd of stepping onto the ledge, {late_steps} (exact {exact_sd:.3g}), risk-neutral",
            unbiased,
            mean_estimate(results.late_mean(NEUTRAL, "aleatoric_right")),
            between(0.9 * exact_sd, 1.1 * exact_sd),
        ),
        (
            f"aleatoric sd of going up, {late_steps} (exact 0), variant 2",
            unbiased,
            mean_estimate(results.late_mean(VARIANT_2, "aleatoric_up")),
            below(0.3),
        ),
    ]
    return [
        *(
            exact_claim(name, paper=expectation, measured=value, criterion=criterion)
            for name, value, criterion in computed
        ),
        *(
            claim(name, paper=paper, **estimate._asdict(), criterion=criterion)
            for name, paper, estimate, criterion in measurements
        ),
    ]
