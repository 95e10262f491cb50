"""Speeds side by side: contenders take turns, so that a noisy machine is noisy for all of them."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

FEWEST_STEPS = 20


class Contender(NamedTuple):
    """Something that makes steps."""

    name: str
    make_steps: Callable[[int], None]


class Speed(NamedTuple):
    """What a contender did."""

    name: str
    steps_per_second: float
    """Median over rounds."""
    rounds: list[float]

    def against(self, other: "Speed") -> float:
        """How many times as fast as another: the median of the rounds' ratios."""
        return float(np.median(np.array(self.rounds) / np.array(other.rounds)))


COMMAND = (sys.executable, "-m", "surefoot")
"""`surefoot`, as this interpreter has it."""

ALONE = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
}
"""What keeps every library on one core: read when it is imported, so it must be there from the start."""


def is_alone() -> bool:
    """Whether this process was started so that no library uses other cores or an accelerator."""
    return all(os.environ.get(name) == value for name, value in ALONE.items())


def start_again_alone(arguments: Sequence[str]) -> None:
    """Become a process that is; does not return."""
    os.execve(sys.executable, [*COMMAND, *arguments], {**os.environ, **ALONE})


def alternate(
    contenders: Sequence[Contender],
    *,
    seconds: float,
    rounds: int,
    after_turn: Callable[[], None] = lambda: None,
) -> list[Speed]:
    """Let contenders take turns of about so many seconds each; before, each has warmed up."""
    turns = {name: _steps_in(make_steps, seconds) for name, make_steps in contenders}
    found: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(rounds):
        for name, make_steps in contenders:
            found[name].append(speed_of(make_steps, turns[name]))
            after_turn()
    return [Speed(name, float(np.median(speeds)), speeds) for name, speeds in found.items()]


def _steps_in(make_steps: Callable[[int], None], seconds: float) -> int:
    """How many steps take so long; the first ones warm up what was not used for a while."""
    make_steps(FEWEST_STEPS)
    return max(FEWEST_STEPS, int(seconds * speed_of(make_steps, FEWEST_STEPS)))


def speed_of(make_steps: Callable[[int], None], steps: int) -> float:
    """Steps per second."""
    begun = time.perf_counter()
    make_steps(steps)
    return steps / (time.perf_counter() - begun)


def seconds_per_call(function: Callable[[], object], calls: int = 2_000, rounds: int = 15) -> float:
    """How long one call takes: the median over rounds."""
    times: list[float] = []
    for _ in range(rounds):
        begun = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - begun) / calls)
    return float(np.median(times))
