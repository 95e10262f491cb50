"""Speeds of several contenders, measured in turns so that noise of the machine affects all of them."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from surefoot.training.driver import round_up

MIN_STEPS = 20
"""Fewest steps of a turn."""


class Contender(NamedTuple):
    """A program whose speed is measured: it makes a given number of steps."""

    name: str
    make_steps: Callable[[int], None]
    multiple: int = 1
    """Numbers of steps are whole multiples of this: the environments that it plays side by side."""


class Speed(NamedTuple):
    """The measured speed of a contender."""

    name: str
    steps_per_second: float
    """Median over rounds."""
    rounds: list[float]
    """Steps per second in each round."""

    def ratio_to(self, other: "Speed") -> float:
        """How many times as fast as another contender it is: the median over rounds."""
        return float(np.median(self._ratios(other)))

    def ratio_quartiles(self, other: "Speed") -> tuple[float, float]:
        """The quartiles over rounds of how many times as fast as another contender it is."""
        low, high = np.quantile(self._ratios(other), [0.25, 0.75])
        return float(low), float(high)

    def _ratios(self, other: "Speed") -> NDArray[np.float64]:
        return np.array(self.rounds) / np.array(other.rounds)


COMMAND = (sys.executable, "-m", "surefoot")
"""The command `surefoot` with this interpreter."""

ONE_CORE_VARIABLES = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
}
"""Environment variables that keep every library on one core. Libraries read them when they are imported."""


def is_limited_to_one_core() -> bool:
    """Whether this process was started with the variables that keep libraries on one core."""
    return all(os.environ.get(name) == value for name, value in ONE_CORE_VARIABLES.items())


def restart_on_one_core(arguments: Sequence[str]) -> None:
    """Replace this process by one that is limited to one core; does not return."""
    os.execve(sys.executable, [*COMMAND, *arguments], {**os.environ, **ONE_CORE_VARIABLES})


def measure_in_turns(
    contenders: Sequence[Contender],
    *,
    seconds: float,
    rounds: int,
    after_turn: Callable[[], None] = lambda: None,
) -> list[Speed]:
    """Speeds of contenders that take turns of about `seconds` each, after a warm-up."""
    turns = {each.name: _steps_per_turn(each, seconds) for each in contenders}
    measured: dict[str, list[float]] = {name: [] for name in turns}
    for _ in range(rounds):
        for each in contenders:
            measured[each.name].append(speed_of(each.make_steps, turns[each.name]))
            after_turn()
    return [Speed(name, float(np.median(speeds)), speeds) for name, speeds in measured.items()]


def _steps_per_turn(contender: Contender, seconds: float) -> int:
    """The number of steps that take about `seconds`; the first steps are a warm-up."""
    few = round_up(MIN_STEPS, contender.multiple)
    contender.make_steps(few)
    return round_up(max(few, int(seconds * speed_of(contender.make_steps, few))), contender.multiple)


def speed_of(make_steps: Callable[[int], None], steps: int) -> float:
    """Steps per second over this many steps."""
    start = time.perf_counter()
    make_steps(steps)
    return steps / (time.perf_counter() - start)


def seconds_per_call(function: Callable[[], object], calls: int = 2_000, rounds: int = 15) -> float:
    """Seconds that one call takes: the median over rounds."""
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            function()
        times.append((time.perf_counter() - start) / calls)
    return float(np.median(times))
