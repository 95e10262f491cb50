"""File locks that the operating system releases when the process that holds them dies."""

from pathlib import Path

from filelock import FileLock


def lock_at(path: Path) -> FileLock:
    """A lock that is acquired at once or refused; on a file system without locks it raises an error.

    A file whose mere existence is the lock would still exist after its holder was killed.
    """
    return FileLock(path, timeout=0, fallback_to_soft=False)
