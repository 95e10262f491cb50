"""The processor cores of this machine: which there are, pinning to one, reserving one."""

import os
import random
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path

from filelock import Timeout

from surefoot.errors import UserError
from surefoot.system.locks import lock_at

MAX_RESERVATIONS_PER_CORE = 100
"""Reservations of one core that are counted; beyond, a core is chosen at random."""


def available_cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin_to(core: int) -> None:
    """Pin this process, and the threads that it starts later, to one core, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        try:
            os.sched_setaffinity(0, {core})
        except (OSError, OverflowError):
            accepted = ", ".join(map(str, available_cores()))
            raise UserError(f"core: got {core}, accepted: {accepted}") from None


@contextmanager
def reserve_core() -> Generator[int]:
    """Reserve a core while the block runs: one with the fewest reservations by processes of this user.

    Where no lock can be made, nothing can be counted, and a core is chosen at random.
    """
    locks = Path(tempfile.gettempdir()) / f"surefoot-cores-{os.getuid()}"
    with suppress(OSError):
        locks.mkdir(mode=0o700, exist_ok=True)
    cores = available_cores()
    for number, core in product(range(MAX_RESERVATIONS_PER_CORE), cores):
        lock = lock_at(locks / f"{core}-{number}.lock")
        try:
            lock.acquire()
        except (Timeout, OSError):
            continue
        try:
            yield core
        finally:
            lock.release()
        return
    yield random.choice(cores)
