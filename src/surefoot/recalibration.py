"""Recalibration: a monotone map of quantile levels, after which believed intervals cover what they say.

Levels are written as normal scores, z = Phi^-1(level). A quantile function is linear in z between the
quantiles of an agent, and beyond the outermost ones it goes on with the mean slope of all: so every return
has a level, and the map can widen intervals beyond the outermost quantile. The map is fitted on episodes that
were held out, as conformal prediction does it (Vovk et al., 2005; Kuleshov et al., 2018).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from surefoot.errors import UserError
from surefoot.program_cache import cached_program
from surefoot.types import Agent, Beliefs, RandomKey

MAX_SCORE = 30.0
"""Scores are clipped here; an agent that is far too sure has returns far beyond its quantiles."""

Floats = NDArray[np.float64]


class Recalibration(NamedTuple):
    """Which of its own levels an agent's quantile function is read at, to be right at the levels it names."""

    levels: tuple[float, ...]
    """The levels of the agent's quantiles."""
    scores: tuple[float, ...]
    """For each of them the normal score of the level that is read instead."""
    episodes: int
    """The episodes that the map was fitted on."""

    def as_json(self) -> dict[str, Any]:
        """The map as plain data."""
        return {"levels": list(self.levels), "scores": list(self.scores), "episodes": self.episodes}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Recalibration":
        """The map that `as_json` described."""
        try:
            levels, scores = (tuple(map(float, found[name])) for name in ("levels", "scores"))
            episodes = int(found["episodes"])
        except (KeyError, TypeError, ValueError) as error:
            raise UserError(f"recalibration: its description is damaged ({type(error).__name__})") from error
        is_map = len(levels) == len(scores) >= 2 and np.isfinite([*levels, *scores]).all()
        if not (is_map and min(np.diff(levels)) > 0 and min(np.diff(scores)) >= 0):
            raise UserError("recalibration: its description is damaged (no monotone map of levels)")
        return cls(levels, scores, episodes)


@cached_program
def recalibrated(agent: Agent, recalibration: Recalibration) -> Agent:
    """The agent with recalibrated quantiles in its beliefs; means and variances stay as they were."""
    matrix = quantile_matrix(recalibration)

    def beliefs(params: PyTree, obs: Array, key: RandomKey) -> Beliefs:
        found = agent.beliefs(params, obs, key)
        if found.quantiles is None:
            return found
        weights = jnp.asarray(matrix.T, found.quantiles.dtype)
        return found._replace(
            quantiles=jnp.sort(found.quantiles, axis=-1) @ weights, raw_quantiles=found.quantiles
        )

    return agent._replace(beliefs=beliefs)


def quantile_matrix(recalibration: Recalibration) -> Floats:
    """The map as a matrix: from sorted quantiles to the quantiles at the scores that are read instead."""
    own, wanted = normal_scores(recalibration.levels), np.asarray(recalibration.scores)
    matrix = np.stack([np.interp(wanted, own, unit) for unit in np.eye(len(own))], axis=1)
    beyond = (wanted - np.clip(wanted, own[0], own[-1])) / (own[-1] - own[0])
    matrix[:, 0] -= beyond
    matrix[:, -1] += beyond
    return matrix


def apply(recalibration: Recalibration, quantiles: NDArray[Any]) -> Floats:
    """Recalibrated quantiles, along the last axis."""
    return np.sort(np.asarray(quantiles, float), axis=-1) @ quantile_matrix(recalibration).T


def normal_scores(levels: Sequence[float] | NDArray[Any]) -> Floats:
    """The scores of levels: the quantiles of a standard normal distribution."""
    return np.asarray(ndtri(np.asarray(levels, float)))


def scores_of_returns(
    quantiles: NDArray[Any],
    levels: Sequence[float] | NDArray[Any],
    returns: NDArray[Any],
    resolution: float,
    rng: np.random.Generator,
) -> Floats:
    """The normal score of each return in what was believed, `[states, returns]`: normal if that was right.

    Returns that occur again and again, as many do in a task with few outcomes, have an interval of levels;
    one of it is drawn (the randomised probability integral transform). Returns and quantiles that differ by
    less than `resolution` count as equal there.
    """
    own, ordered = normal_scores(levels), np.sort(np.asarray(quantiles, float), axis=-1)
    low, high = (_scores(ordered, own, returns + shift) for shift in (-resolution, resolution))
    # In the lower half, where levels are not rounded to 1.
    is_upper = low + high > 0
    low, high = np.where(is_upper, -high, low), np.where(is_upper, -low, high)
    drawn = ndtri(ndtr(low) + rng.uniform(size=returns.shape) * (ndtr(high) - ndtr(low)))
    return np.where(is_upper, -drawn, drawn)


def levels_of_returns(
    quantiles: NDArray[Any],
    levels: Sequence[float] | NDArray[Any],
    returns: NDArray[Any],
    resolution: float,
    rng: np.random.Generator,
) -> Floats:
    """The same as levels: uniform if what was believed is right."""
    return ndtr(scores_of_returns(quantiles, levels, returns, resolution, rng))


def _scores(ordered: Floats, own: Floats, returns: NDArray[Any]) -> Floats:
    """The normal score of each return of each state, `[states, returns]`."""
    found = np.stack([np.interp(row, each, own) for each, row in zip(ordered, returns, strict=True)])
    ends = ordered[:, :1], ordered[:, -1:]
    slope = np.maximum((ends[1] - ends[0]) / (own[-1] - own[0]), 1e-12)
    found += (returns - np.clip(returns, *ends)) / slope
    return np.clip(found, -MAX_SCORE, MAX_SCORE)


def fit(levels: Sequence[float] | NDArray[Any], scores: NDArray[Any]) -> Recalibration:
    """The map under which returns have the levels that they should, from their scores in held-out episodes.

    `scores` are `[episodes, returns]`. An episode counts as one observation, since its returns depend on each
    other; one more is added that could lie anywhere, so that intervals err on the wide side.
    """
    episodes, each = scores.shape
    ascending = np.sort(scores.ravel())
    mirrored = -ascending[::-1]

    def upper(level: float, ordered: Floats) -> float:
        place = int(np.ceil(level * (episodes + 1) * each))
        return float(ordered[min(place, len(ordered)) - 1])

    found = [
        upper(level, ascending) if level >= 0.5 else -upper(1 - level, mirrored)
        for level in map(float, levels)
    ]
    monotone = np.maximum.accumulate(found).tolist()
    return Recalibration(tuple(float(level) for level in levels), tuple(monotone), episodes)
