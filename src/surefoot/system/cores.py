"""The cores of this machine, and keeping to one of them."""

import os
import random
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path

from filelock import Timeout

from surefoot.system.locks import lock_at
from surefoot.errors import UserError

MOST_A_CORE = 100
"""Processes that are counted on one core; where nothing can be counted, chance chooses one."""


def available_cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin_to(core: int) -> None:
    """Keep this process, and the threads that it starts from now on, on one core, where that can be told."""
    if hasattr(os, "sched_setaffinity"):
        try:
            os.sched_setaffinity(0, {core})
        except (OSError, OverflowError):
            accepted = ", ".join(map(str, available_cores()))
            raise UserError(f"--core: got {core}, accepted: {accepted}") from None


@contextmanager
def reserve_core() -> Generator[int]:
    """A core that no other process of this user's holds in this way, or else the one that fewest hold."""
    home = Path(tempfile.gettempdir()) / f"surefoot-cores-{os.getuid()}"
    with suppress(OSError):
        home.mkdir(mode=0o700, exist_ok=True)
    cores = available_cores()
    for place, core in product(range(MOST_A_CORE), cores):
        lock = lock_at(home / f"{core}-{place}.lock")
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
