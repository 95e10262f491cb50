"""The cores of this machine, and keeping to one of them."""

import os


def available_cores() -> list[int]:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin_to(core: int) -> None:
    """Keep this process, and the threads that it starts from now on, on one core, where that can be told."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})
