"""Memory: how much is available, whether a replay fits into it, and how glibc allocates it."""

import ctypes
from contextlib import suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np

from surefoot.errors import UserError

CGROUP = Path("/sys/fs/cgroup")
M_ARENA_MAX = -8
"""Parameter of `mallopt`, from glibc's malloc.h."""


def available_bytes() -> int | None:
    """Memory that is available to this process, within the limits of its container; None if unknown."""
    found: list[int] = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    except (OSError, ValueError, IndexError):
        pass
    try:
        limit, used = ((CGROUP / name).read_text().strip() for name in ("memory.max", "memory.current"))
        found += [] if limit == "max" else [max(int(limit) - int(used), 0)]
    except (OSError, ValueError):
        pass
    return min(found, default=None)


def require_memory_for(replay: Any) -> None:
    """Refuse a replay, given by its shapes and dtypes, that does not fit into memory."""
    needed = sum(int(np.prod(leaf.shape)) * leaf.dtype.itemsize for leaf in jax.tree.leaves(replay))
    available = available_bytes()
    if available is not None and needed > available:
        raise UserError(
            f"replay_capacity: got {replay.capacity:,}, which takes {needed:,} bytes of memory, "
            f"accepted: a capacity that fits into the {available:,} bytes that are available"
        )


def release_freed_memory() -> None:
    """Return freed memory to the system: after a compilation, glibc holds hundreds of megabytes of it."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def limit_malloc_arenas() -> None:
    """Make all threads allocate from one arena, which lowers the peak of compilation by 100 MB.

    It must be called before there are other threads.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
