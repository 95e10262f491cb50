"""Writing files so that a crash at any moment leaves the old or the new content, with clear errors."""

import errno
import os
import shutil
from pathlib import Path

from surefoot.errors import UserError

DISK_FULL_ERRORS = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk and of a user's full quota of it."""


class DiskError(UserError):
    """A file could not be written; the text names it and the cause."""


def disk_error(what: str, needed: int, directory: Path, error: OSError | None) -> DiskError:
    """The error for data that could not be written: a full disk, unless `error` has another cause."""
    cause = "" if error is None else error.strerror or str(error)
    if error is None or error.errno in DISK_FULL_ERRORS:
        free = free_bytes(directory)
        if free < needed:
            reason = f" ({cause})" if cause else ""
            return DiskError(f"{what}: needs {needed:,} bytes, free are {free:,}{reason}")
    return DiskError(f"{what}: could not be written: {cause or 'the disk was full'}")


def free_bytes(directory: Path) -> int:
    """Free bytes on the disk of a directory, or of its nearest parent that exists."""
    while not directory.exists():
        directory = directory.parent
    return shutil.disk_usage(directory).free


def write_durably(path: Path, data: bytes) -> None:
    """Write a file and wait until it is on the disk."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes | bytearray) -> None:
    """Write all the data, however many calls that takes."""
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(handle, remaining) :]


def sync_directory(directory: Path) -> None:
    """Wait until the names of a directory's files are on the disk."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def rename_durably(source: Path, target: Path) -> None:
    """Rename a file or directory, and wait until the new name is on the disk."""
    os.rename(source, target)  # noqa: PTH104 (`os` as in the other functions here)
    sync_directory(target.parent)


def replace_file(path: Path, data: bytes) -> None:
    """Replace the content of a file: a crash leaves either the old or the new content."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        write_durably(temporary, data)
        rename_durably(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise disk_error(str(path), len(data), path.parent, error) from error


def remove_directory(directory: Path) -> None:
    """Delete a directory; it is renamed first, so that nobody reads one that is half deleted."""
    renamed = directory.with_name(f".{directory.name}.gone")
    shutil.rmtree(renamed, ignore_errors=True)
    os.rename(directory, renamed)  # noqa: PTH104
    shutil.rmtree(renamed, ignore_errors=True)


class AppendedFile:
    """A file that is appended to; data that a full disk refused is written by a later flush."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._pending = bytearray()

    def add(self, data: str | bytes) -> None:
        """Append data at the next flush."""
        self._pending += data.encode() if isinstance(data, str) else data

    def flush(self) -> None:
        """Hand the data to the operating system, so that it is not lost if this process is killed."""
        while self._pending:
            del self._pending[: os.write(self._handle, self._pending)]

    def sync(self) -> int:
        """Wait until all data is on the disk; returns the length of the file."""
        self.flush()
        os.fsync(self._handle)
        return os.fstat(self._handle).st_size

    def close(self) -> None:
        """Flush and close."""
        try:
            self.flush()
        finally:
            os.close(self._handle)
