"""Writing so that a crash at any moment leaves the old or the new, and a full disk a clear message."""

import os
import shutil
from pathlib import Path

from surefoot.errors import UserError


class DiskError(UserError):
    """Something could not be written; the text says what, how much it needs and how much is free."""


def disk_error(what: str, needed: int, directory: Path, error: OSError | None) -> DiskError:
    """What to say when there is no room, or no writing for another reason."""
    why = f" ({error.strerror})" if error is not None else ""
    return DiskError(f"{what}: needs {needed:,} bytes, free are {free_bytes(directory):,}{why}")


def free_bytes(directory: Path) -> int:
    """Room on the disk of a directory, or of the nearest one above it that exists."""
    while not directory.exists():
        directory = directory.parent
    return shutil.disk_usage(directory).free


def write_durably(path: Path, data: bytes) -> None:
    """Write a file and wait until the disk has it."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    try:
        write_all(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)


def write_all(handle: int, data: bytes | bytearray) -> None:
    """Write all of it, however many calls that takes."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def sync_directory(directory: Path) -> None:
    """Wait until the disk has a directory's names."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def rename_durably(source: Path, target: Path) -> None:
    """Rename, and wait until the disk knows."""
    os.rename(source, target)  # noqa: PTH104 (as the other calls here)
    sync_directory(target.parent)


def replace_file(path: Path, data: bytes) -> None:
    """Put a file in the place of another, all of it or nothing."""
    aside = path.with_name(f".{path.name}.tmp")
    try:
        write_durably(aside, data)
        rename_durably(aside, path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise disk_error(str(path), len(data), path.parent, error) from error


def remove_directory(directory: Path) -> None:
    """Delete a directory: first its name, so that it is never seen in part."""
    aside = directory.with_name(f".{directory.name}.gone")
    shutil.rmtree(aside, ignore_errors=True)
    os.rename(directory, aside)  # noqa: PTH104
    shutil.rmtree(aside, ignore_errors=True)


class AppendedFile:
    """A file that grows at its end; what a full disk did not take is kept and tried again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._pending = bytearray()

    def add(self, data: str | bytes) -> None:
        """Append data at the next flush."""
        self._pending += data.encode() if isinstance(data, str) else data

    def flush(self) -> None:
        """Hand the data to the operating system, after which a killed process loses nothing of it."""
        while self._pending:
            del self._pending[: os.write(self._handle, self._pending)]

    def sync(self) -> int:
        """Wait until the disk has all data; the length of the file."""
        self.flush()
        os.fsync(self._handle)
        return os.fstat(self._handle).st_size

    def close(self) -> None:
        """Flush and close."""
        try:
            self.flush()
        finally:
            os.close(self._handle)
