"""How the time of a UA-DQN step depends on its settings, and how much a second process adds."""

import gc
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

from surefoot.bench.surefoot_agents import compiled_contender
from surefoot.bench.timing import Speed, measure_in_turns, speed_of
from surefoot.errors import UserError
from surefoot.system.cores import pin_to

VARIED_SETTINGS: dict[str, tuple[int, ...]] = {
    "auxiliary_networks": (2, 4, 8),
    "quantiles": (25, 50, 100, 200),
    "batch_size": (32, 64, 128),
    "replay_capacity": (10_000, 100_000, 1_000_000),
}
"""Settings that are varied one at a time, and their values."""


def run(
    setting: str, *, seconds: float, rounds: int, after_turn: Callable[[], None] = lambda: None
) -> list[Speed]:
    """Speeds of compiled UA-DQN with each value of one setting."""
    contenders = [
        compiled_contender("uadqn", f"{setting} {value:,}", **{setting: value})
        for value in VARIED_SETTINGS[setting]
    ]
    found = measure_in_turns(contenders, seconds=seconds, rounds=rounds, after_turn=after_turn)
    del contenders
    gc.collect()  # A replay of a million transitions takes 800 MB.
    return found


class TwoProcesses(NamedTuple):
    """Steps per second of one process, and of two processes at once in sum."""

    alone: float
    together: float
    ratio: float
    """Median over rounds of the second divided by the first."""


def two_processes(cores: list[int], *, seconds: float, rounds: int) -> TwoProcesses | None:
    """UA-DQN in two processes, each pinned to a core of its own; None if there is only one core."""
    if len(cores) < 2:
        return None
    context = get_context("spawn")
    workers: list[tuple[Any, Any]] = []
    for core in cores[-2:]:
        parent_end, child_end = context.Pipe()
        process = context.Process(target=_work, args=(child_end, core), daemon=True)
        process.start()
        child_end.close()  # So that `recv` raises an error here if the process dies.
        workers.append((process, parent_end))
    try:
        speeds = [pipe.recv() for _, pipe in workers]
        turn = int(seconds * min(speeds))
        alone, together = np.zeros(rounds), np.zeros(rounds)
        for i in range(rounds):
            _, first = workers[i % 2]
            first.send(turn)
            alone[i] = first.recv()
            for _, pipe in workers:
                pipe.send(turn)
            together[i] = sum(pipe.recv() for _, pipe in workers)
    except EOFError as error:
        raise UserError("bench: one of two processes died") from error
    finally:
        for process, _ in workers:
            process.terminate()
            process.join()
    return TwoProcesses(
        float(np.median(alone)), float(np.median(together)), float(np.median(together / alone))
    )


def _work(pipe: Any, core: int) -> None:
    """Receive numbers of steps, and send the speed at which each was made."""
    pin_to(core)
    make_steps = compiled_contender("uadqn").make_steps
    pipe.send(speed_of(make_steps, 200))
    while True:
        pipe.send(speed_of(make_steps, pipe.recv()))
