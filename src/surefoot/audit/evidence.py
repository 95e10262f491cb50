"""What an audit compares: beliefs about the greedy action of visited states, and the returns from there."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.audit.rollouts import Visited
from surefoot.audit.subject import Subject
from surefoot.statistics import Estimate, bootstrap_estimate
from surefoot.types import Beliefs

Floats = NDArray[np.float64]

RESOLUTION = 0.05
"""Returns that differ by less than this part of the spread of all returns count as equal.

Where chance is in few outcomes, as on a cliff, a right quantile lies exactly on a return, and an error of no
consequence would decide on which side. It is a fifth of the error of spreads that the audit lets pass.
"""


class BeliefTable(NamedTuple):
    """Beliefs about the greedy action of each state, as NumPy arrays; None for what an agent has not."""

    mean: Floats
    epistemic: Floats | None
    """Standard deviation."""
    aleatoric_variance: Floats | None
    quantiles: Floats | None
    """Sorted."""
    raw_quantiles: Floats | None
    """The quantiles before recalibration, if the model is recalibrated; sorted."""


class Evidence(NamedTuple):
    """Beliefs and returns, `[E, S]` and `[E, S, R]` for episodes, states of each and returns from each."""

    subject: Subject
    visited: Visited
    beliefs: BeliefTable

    @property
    def episodes(self) -> int:
        """How many episodes."""
        return len(self.visited.returns)

    @property
    def returns(self) -> Floats:
        """Discounted returns."""
        return self.visited.returns

    @property
    def has_repeats(self) -> bool:
        """Whether there are several returns from each state."""
        return self.returns.shape[-1] > 1

    @property
    def resolution(self) -> float:
        """The difference below which returns count as equal."""
        return RESOLUTION * float(np.std(self.returns))

    @property
    def squared_error(self) -> Floats:
        """The squared distance of the believed mean from the expected return, estimated without bias."""
        return _squared_distance(self.beliefs.mean, self.returns)

    @property
    def one_step_squared_error(self) -> Floats:
        """The same from the expectation of the first reward and the value that is believed after it."""
        return _squared_distance(self.beliefs.mean, self.visited.one_step)


def _squared_distance(mean: Floats, samples: Floats) -> Floats:
    """The product of the distances from the means of two halves of the samples, whose noise is independent.

    The square of a single distance would contain the variance of the samples' mean: where chance is large,
    any agent would seem wrong. It may be negative. With one sample there is no second half, and the square is
    taken.
    """
    halves = samples[..., ::2], samples[..., 1::2]
    if not halves[1].shape[-1]:
        halves = samples, samples
    return (mean - halves[0].mean(axis=-1)) * (mean - halves[1].mean(axis=-1))


def gather(subject: Subject, visited: Visited) -> Evidence:
    """Ask for the beliefs about the visited states."""
    shape = visited.obs.shape[:2]
    table = greedy_beliefs(subject, visited.obs.reshape(-1, *visited.obs.shape[2:]))
    shaped = (
        None if values is None else np.asarray(values).reshape(*shape, *np.shape(values)[1:])
        for values in table
    )
    return Evidence(subject, visited, BeliefTable(*shaped))  # pyright: ignore[reportArgumentType]


BATCH = 256
"""Observations that are looked at at once."""


def greedy_beliefs(subject: Subject, obs: NDArray[Any]) -> BeliefTable:
    """Beliefs about the greedy action of each of a batch of observations."""
    parts: list[BeliefTable] = []
    for start in range(0, len(obs), BATCH):
        batch = obs[start : start + BATCH]
        # One shape for all, so that the program compiles once.
        filled = np.concatenate([batch, np.repeat(batch[:1], BATCH - len(batch), axis=0)])
        parts.append(_of_actions(subject.beliefs(filled), subject.best(filled), len(batch)))
    columns = [None if column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True)]
    return BeliefTable(*columns)  # pyright: ignore[reportArgumentType]


def _of_actions(beliefs: Beliefs, actions: NDArray[np.int64], count: int) -> BeliefTable:
    mean, best = np.asarray(beliefs.mean, float)[:count], actions[:count]

    def chosen(values: Any, *, ordered: bool = False) -> Floats | None:
        if values is None:
            return None
        found = np.asarray(values, float)[:count][np.arange(count), best]
        return np.sort(found, axis=-1) if ordered else found

    return BeliefTable(
        mean[np.arange(count), best],
        chosen(beliefs.epistemic),
        chosen(beliefs.aleatoric_variance),
        chosen(beliefs.quantiles, ordered=True),
        chosen(beliefs.raw_quantiles, ordered=True),
    )


def over_episodes(statistic: Callable[[NDArray[Any]], float], episodes: int) -> Estimate:
    """A statistic of some episodes, given by their indices, with its interval by resampling whole episodes.

    States of one episode depend on each other, and so do their returns: to resample states would make
    intervals too narrow.
    """

    def of_resamples(strata: Any) -> Any:
        return np.apply_along_axis(statistic, -1, strata[0])

    return bootstrap_estimate(of_resamples, [np.arange(episodes)])


def mean_over_episodes(values: NDArray[Any]) -> Estimate:
    """The mean of values, `[E, ...]`, with its interval by resampling whole episodes."""
    means = per_episode(values)
    return over_episodes(lambda chosen: float(means[chosen].mean()), len(values))


def per_episode(values: NDArray[Any]) -> Floats:
    """The mean of each episode's values."""
    return np.asarray(values, float).reshape(len(values), -1).mean(axis=1)
