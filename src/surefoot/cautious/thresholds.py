"""When to hand over and when to hand back: two thresholds, fitted to a share of steps.

With one threshold, control would change at each step while the uncertainty is near it. With two, the fallback
keeps control until the uncertainty has fallen below the lower one.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

BAND = 2
"""The lower threshold is exceeded at this many times as many steps as the upper one."""
GAP = 0.9
"""The lower threshold is at most this part of the upper one, also where many steps have equal signals."""
ROUNDING = 1e-3
"""Thresholds lie this fraction above what was observed.

The same observation gives slightly different numbers in batches of different sizes, and small environments
have many steps with the same observation, which would all change sides.
"""


class Thresholds(NamedTuple):
    """Control is handed over above the first and handed back at or below the second."""

    hand_over: float
    hand_back: float

    def next_control(self, handed_over: NDArray[np.bool_], signal: NDArray[Any]) -> NDArray[np.bool_]:
        """Who has control after a signal, given who had it: true is the fallback.

        A signal that is not a number counts as infinite: an agent whose numbers are broken hands over.
        """
        limit = np.where(handed_over, self.hand_back, self.hand_over)
        return _numbers(signal) > limit if np.isfinite(self.hand_over) else np.full(limit.shape, limit < 0)


NEVER = Thresholds(np.inf, np.inf)
ALWAYS = Thresholds(-np.inf, -np.inf)


def control(signal: NDArray[Any], starts: NDArray[np.bool_], thresholds: Thresholds) -> NDArray[np.bool_]:
    """At which steps of some episodes, one after the other, the fallback has control.

    `starts` marks their first steps, at which the agent has control unless the signal is above the upper
    threshold.
    """
    if not np.isfinite(thresholds.hand_over):
        return np.full(len(signal), thresholds.hand_over < 0)
    signal = _numbers(signal)
    above = signal > thresholds.hand_over
    is_decided = above | starts | (signal <= thresholds.hand_back)
    # Between the thresholds, what was decided last remains.
    decided_at = np.maximum.accumulate(np.where(is_decided, np.arange(len(signal)), 0))
    return above[decided_at]


def fit_thresholds(
    signal: NDArray[Any],
    starts: NDArray[np.bool_],
    budget: float,
    realised_share: Callable[[Thresholds], float] = lambda _: 0.0,
) -> Thresholds:
    """The lowest thresholds with which the fallback has control at no more than this share of the steps.

    Both are quantiles of the signal that fall together, so that the share grows as they fall. Steps with
    equal signals are handed over together or not at all: a budget that would split them is not used up.

    The signal is that of episodes that the agent played alone. Where the fallback leads elsewhere, its
    `realised_share` differs; if that is above the budget, the thresholds rise until it is not.
    """
    if budget <= 0:
        return NEVER
    if budget >= 1:
        return ALWAYS
    ranked = np.sort(_numbers(signal))[::-1]
    ranked = ranked + ROUNDING * np.abs(ranked)

    def at(count: int) -> Thresholds:
        """Thresholds of which the upper is exceeded by this many steps, fewer where signals are equal."""
        upper, lower = ranked[count], ranked[min(BAND * count, len(ranked) - 1)]
        return Thresholds(float(upper), float(min(lower, GAP * upper)))

    # Beyond this number, only the lower threshold would fall, where many signals are equal.
    most = min(int(budget * len(ranked)), len(ranked) - 1)
    count = _largest(most, lambda k: control(signal, starts, at(k)).mean() <= budget)
    if count and realised_share(at(count)) > budget:
        count = _largest(count - 1, lambda k: realised_share(at(k)) <= budget)
    return at(count)


def _largest(high: int, fits: Callable[[int], Any]) -> int:
    """The largest number up to `high` that fits, where 0 does, and smaller ones fit if larger ones do."""
    low = 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _numbers(signal: NDArray[Any]) -> NDArray[np.float64]:
    return np.nan_to_num(np.asarray(signal, float), nan=np.inf, posinf=np.inf)
