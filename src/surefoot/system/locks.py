"""Locks that the operating system frees when their holder dies."""

from pathlib import Path

from filelock import FileLock


def lock_at(path: Path) -> FileLock:
    """A lock that is taken at once or refused; where the disk knows no locks, that is an error.

    A file that merely stands for a lock would outlive whoever was killed holding it.
    """
    return FileLock(path, timeout=0, fallback_to_soft=False)
