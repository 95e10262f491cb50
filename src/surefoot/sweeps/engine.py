"""The contract of engines, which run `surefoot` in other processes: on this machine, or on a Ray cluster."""

from pathlib import Path
from typing import Protocol, runtime_checkable


@runtime_checkable
class Worker(Protocol):
    """A process that an engine has started."""

    def exit_code(self) -> int | None:
        """The exit code; None while the process runs, below 0 if it was killed."""
        ...

    def stop(self) -> None:
        """Ask the process to save and exit, without waiting for it."""
        ...


@runtime_checkable
class Engine(Protocol):
    """Starts processes of `surefoot`, each on a core of its own."""

    @property
    def slots(self) -> int:
        """The number of processes that can run at once."""
        ...

    def start(self, arguments: list[str], log: Path) -> Worker:
        """Start `surefoot` with these arguments; its output is appended to the file `log`."""
        ...

    def close(self) -> None:
        """Release what the engine holds, such as the connection to a cluster."""
        ...
