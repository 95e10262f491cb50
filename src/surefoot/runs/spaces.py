"""Spaces as JSON, so that a model knows its own without its environment."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from surefoot.types import Observations


def space_to_json(space: Observations) -> dict[str, Any]:
    """A space's kind and numbers."""
    if isinstance(space, Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    return {
        "kind": "Box",
        "shape": list(space.shape),
        "dtype": np.dtype(space.dtype).name,
        "low": _bounds_to_json(space.low),
        "high": _bounds_to_json(space.high),
    }


MOST_NUMBERS = 10**8
"""In one observation."""


def space_from_json(found: Mapping[str, Any]) -> Observations:
    """What `space_to_json` gave."""
    if found["kind"] == "Discrete":
        return Discrete(int(found["n"]), start=int(found["start"]))
    shape, dtype = tuple(map(int, found["shape"])), np.dtype(str(found["dtype"]))
    if found["kind"] != "Box" or dtype.kind not in "biuf":
        raise ValueError(f"a space {found['kind']} of {dtype}")
    if min(shape, default=0) < 0 or math.prod(shape) > MOST_NUMBERS:
        raise ValueError(f"a space of shape {shape}")
    low, high = (_bounds_from_json(found[side], shape, dtype) for side in ("low", "high"))
    return Box(low, high, shape, dtype.type)  # pyright: ignore[reportArgumentType]


def _bounds_to_json(bounds: NDArray[Any]) -> str | list[str]:
    """As text, which knows infinity; once, where all are equal."""
    words = [repr(each) for each in bounds.reshape(-1).tolist()]
    return words[0] if words and len(set(words)) == 1 else words


def _bounds_from_json(found: str | list[str], shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    read = {"b": lambda word: word == "True", "i": int, "u": int}.get(dtype.kind, float)
    if isinstance(found, str):
        return np.full(shape, read(found), dtype)
    return np.array([read(word) for word in found], dtype).reshape(shape)
