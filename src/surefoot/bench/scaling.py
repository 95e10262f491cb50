"""How UA-DQN's step grows with what it is made of, and what a second process on a second core brings."""

import gc
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np

from surefoot.bench.timing import Speed, alternate, speed_of
from surefoot.bench.surefoot_agents import compiled_contender
from surefoot.system.cores import pin_to
from surefoot.errors import UserError

VARIED: dict[str, tuple[int, ...]] = {
    "auxiliary_networks": (2, 4, 8),
    "quantiles": (25, 50, 100, 200),
    "batch_size": (32, 64, 128),
    "replay_capacity": (10_000, 100_000, 1_000_000),
}


def run(
    setting: str, *, seconds: float, rounds: int, after_turn: Callable[[], None] = lambda: None
) -> list[Speed]:
    """UA-DQN, compiled, with each value of one setting."""
    contenders = [
        compiled_contender("uadqn", f"{setting} {value:,}", **{setting: value}) for value in VARIED[setting]
    ]
    found = alternate(contenders, seconds=seconds, rounds=rounds, after_turn=after_turn)
    del contenders
    gc.collect()  # A million transitions are 800 MB.
    return found


class Together(NamedTuple):
    """Speed of one process, and of two at once together."""

    alone: float
    together: float
    ratio: float
    """The median of the rounds' ratios."""


def two_processes(cores: list[int], *, seconds: float, rounds: int) -> Together | None:
    """UA-DQN in two processes, each pinned to a core of its own; None where there is only one."""
    if len(cores) < 2:
        return None
    context = get_context("spawn")
    workers: list[tuple[Any, Any]] = []
    for core in cores[-2:]:
        here, there = context.Pipe()
        process = context.Process(target=_work, args=(there, core), daemon=True)
        process.start()
        there.close()  # So that its end is noticed here.
        workers.append((process, here))
    try:
        steps = [pipe.recv() for _, pipe in workers]
        turn = int(seconds * min(steps))
        alone, together = np.zeros(rounds), np.zeros(rounds)
        for i in range(rounds):
            _, first = workers[i % 2]
            first.send(turn)
            alone[i] = first.recv()
            for _, pipe in workers:
                pipe.send(turn)
            together[i] = sum(pipe.recv() for _, pipe in workers)
    except EOFError as error:
        raise UserError("bench: one of two processes ended early") from error
    finally:
        for process, _ in workers:
            process.terminate()
            process.join()
    return Together(float(np.median(alone)), float(np.median(together)), float(np.median(together / alone)))


def _work(pipe: Any, core: int) -> None:
    """Make steps whenever told how many, and say how fast."""
    pin_to(core)
    make_steps = compiled_contender("uadqn").make_steps
    pipe.send(speed_of(make_steps, 200))
    while True:
        pipe.send(speed_of(make_steps, pipe.recv()))
