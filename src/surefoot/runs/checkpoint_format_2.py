"""Checkpoints of formats 1 and 2: Adam's mean and square were arrays of their own."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOMENTS = "optimiser.moments"
"""How the name of an array with both moments begins."""


def parts_of(name: str, stored: Collection[str]) -> list[str]:
    """The names of the arrays that make up one of today, given all that are stored."""
    if name in stored or not (name == MOMENTS or name.startswith(f"{MOMENTS}.")):
        return [name]
    return [f"optimiser.{moment}{name.removeprefix(MOMENTS)}" for moment in ("mean", "square")]


def part_shape(shape: tuple[int, ...], parts: int) -> tuple[int, ...]:
    """The shape of each of these parts, given that of the array of today."""
    return shape if parts == 1 else (*shape[:-2], *shape[-1:][: len(shape) - 1])


def joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The array of today."""
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=max(parts[0].ndim - 1, 0))
