"""Checkpoints of format 1 (version 0.1): where their names differ from those of today."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

PARTS = {"train": "run", "env_state": "beside", "metrics": "tally", "episode": "playing"}
"""Names of files that are called differently today."""

TENSORS = {"episode.episode_return": "episode.gain", "params.moments.observations": "params.moments.seen"}
"""Names of arrays that are called differently today."""

COUNT = "params.moments.observations"
"""The number of observations, a float of 32 bits in format 1."""


def part_name(part: str) -> str:
    """The name of a part's file."""
    return PARTS.get(part, part)


def tensor_name(name: str) -> str:
    """The name of an array."""
    return TENSORS.get(name, name)


def dtype_of(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of an array, given the one of today."""
    return np.dtype(np.float32) if name == COUNT else dtype


def converted(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """An array as it is stored today."""
    return array.astype(np.int32) if name == COUNT else array


def notes(found: Mapping[str, Any]) -> dict[str, Any]:
    """The notes of a manifest, by the names of today."""
    named = dict(found)
    if "tally" in named:
        named["metrics"] = named.pop("tally")
    if "playing" in named:
        played = named.pop("playing")
        named["episode"] = played and {"number": played["number"], "checksum": played["trace"]}
    return named
