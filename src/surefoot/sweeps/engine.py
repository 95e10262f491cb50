"""The contract of those who carry out runs: local processes, or Ray."""

from pathlib import Path
from typing import Protocol, runtime_checkable


@runtime_checkable
class Worker(Protocol):
    """A run under way somewhere."""

    def exit_code(self) -> int | None:
        """How it ended: None while it goes on, below 0 where it was killed."""
        ...

    def stop(self) -> None:
        """Ask it to save and leave; it is over when there is an exit code."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Starts runs of the command, each on a core of its own."""

    @property
    def slots(self) -> int:
        """Runs that can go on at once."""
        ...

    def start(self, arguments: list[str], log: Path) -> Worker:
        """Begin `surefoot` with these arguments; what it says goes to the end of `log`."""
        ...

    def close(self) -> None:
        """Give back what was taken."""
        ...
