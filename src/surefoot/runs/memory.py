"""How much memory there is, and how much a replay takes."""

import ctypes
from contextlib import suppress
from pathlib import Path

import jax
import numpy as np

from surefoot.replay import Replay
from surefoot.types import UserError

CGROUP = Path("/sys/fs/cgroup")
M_ARENA_MAX = -8
"""As glibc's malloc.h has it."""


def available_bytes() -> int | None:
    """Memory that can still be had, within the limits of a container; None where nobody says."""
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


def require_room_for(replay: Replay) -> None:
    """Refuse a replay, given by its shapes, that does not fit into memory."""
    needed = sum(int(np.prod(leaf.shape)) * leaf.dtype.itemsize for leaf in jax.tree.leaves(replay))
    available = available_bytes()
    if available is not None and needed > available:
        raise UserError(
            f"replay_capacity: got {replay.capacity:,}, which takes {needed:,} bytes of memory, "
            f"accepted: what fits into the {available:,} that are available"
        )


def give_back() -> None:
    """Return to the system what is free: of compiling a program, glibc keeps hundreds of megabytes."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def keep_together() -> None:
    """Let all threads take memory from one place, before there are any: compiling peaks 100 MB lower."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)
