"""How often the states of an audit are in the agent's replay."""

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.audit.evidence import Evidence

MIN_SEEN = 0.5
"""The part of the states that must be in the replay for counts of exactly equal observations to say much."""


def counts_of(evidence: Evidence) -> NDArray[np.int64] | str:
    """How often each visited state was seen, `[E, S]`; or why that is not known."""
    experience = evidence.subject.experience
    if experience is None:
        return "this checkpoint holds no replay (the last one of a run does: --which last)"
    seen = Counter(map(bytes, _rows(experience.obs)))
    obs = evidence.visited.obs
    flat = obs.reshape(-1, *obs.shape[2:]).astype(experience.obs.dtype)
    counts = np.array([seen[row.tobytes()] for row in _rows(flat)]).reshape(obs.shape[:2])
    if np.mean(counts > 0) < MIN_SEEN:
        return "observations hardly ever repeat exactly, so that visits of a state cannot be counted"
    return counts


def unseen(obs: NDArray[Any], seen: NDArray[Any]) -> NDArray[np.bool_]:
    """Which observations are nowhere among those seen."""
    known = set(map(bytes, _rows(seen)))
    return np.array([row.tobytes() not in known for row in _rows(obs.astype(seen.dtype))])


def _rows(obs: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(obs.reshape(len(obs), -1))
