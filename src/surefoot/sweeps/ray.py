"""Runs as tasks of a Ray cluster. A task is text: the words of a command, and where its log is."""

import json
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from surefoot.runs.cores import a_free_core
from surefoot.sweeps.local import start_attached
from surefoot.sweeps.schedule import SIGNALLED
from surefoot.types import UserError, one_line, whole_number

LOOPBACK_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""At 0, everywhere as on those systems: a cluster that is started here is for this machine alone."""


def carry_out_task(words: str, log: str) -> str:
    """On a node of the cluster: the command as a process, pinned to a core that is free there.

    Returns its exit code. Whatever ends this task ends the process, in order.
    """
    with a_free_core() as core:
        pinned = [] if core is None else ["--core", str(core)]
        process = start_attached([*json.loads(words), *pinned], Path(log))
        try:
            return str(process.wait())
        except BaseException:
            process.terminate()
            process.wait()
            raise


@contextmanager
def _cluster_needed() -> Generator[None]:
    """Say in one line that the cluster as a whole is gone."""
    try:
        yield
    except Exception as error:
        words = f"--address: the cluster is lost ({one_line(error)}); the same command goes on"
        raise UserError(words) from error


class RayWorker:
    """A task under way."""

    def __init__(self, ray: Any, task: Any, log: Path) -> None:
        self._ray, self._task, self._log = ray, task, log

    def exit_code(self) -> int | None:
        """How it ended; a worker or a node that is gone counts as killed."""
        with _cluster_needed():
            finished, _ = self._ray.wait([self._task], timeout=0)
        if not finished:
            return None
        errors = self._ray.exceptions
        try:
            return int(self._ray.get(self._task))
        except errors.TaskCancelledError:
            return SIGNALLED + signal.SIGTERM
        except errors.RayTaskError as error:
            with self._log.open("a") as words:
                words.write(f"{one_line(error.cause)}\n")
            return 1
        except errors.RayError:
            return -signal.SIGKILL

    def stop(self) -> None:
        """As an interruption would."""
        self._ray.cancel(self._task)


class RayEngine:
    """A cluster that is there, or one on this machine for the time being."""

    def __init__(self, address: str | None = None, jobs: int | None = None) -> None:
        self._jobs = None if jobs is None else whole_number("--jobs", jobs, 1)
        # Read when it is imported, and by the nodes that it starts.
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if address is None:
            os.environ[LOOPBACK_ONLY] = "0"
        try:
            self._ray: Any = import_module("ray")
        except ImportError:
            raise UserError("--engine: ray is not installed, accepted: pip install 'surefoot[ray]'") from None
        here = {} if address else {"include_dashboard": False}
        try:
            self._ray.init(address=address or "local", log_to_driver=False, logging_level="ERROR", **here)
        except Exception as error:
            raise UserError(f"--address: got {address or 'local'}, {one_line(error)}") from error
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(carry_out_task)

    @property
    def slots(self) -> int:
        """As many as the cluster has cores now."""
        with _cluster_needed():
            return self._jobs or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def start(self, arguments: list[str], log: Path) -> RayWorker:
        """Begin wherever there is room."""
        return RayWorker(self._ray, self._task.remote(json.dumps(arguments), str(log)), log)

    def close(self) -> None:
        """Leave the cluster, or end the one that was started."""
        self._ray.shutdown()
