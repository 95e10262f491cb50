"""Runs as tasks of a Ray cluster. A task is text: the words of a command, and where its log is."""

import json
import math
import os
import re
import secrets
import signal
import socket
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from surefoot.system.cores import reserve_core
from surefoot.sweeps.local_engine import start_attached
from surefoot.sweeps.runner import PAUSE, SIGNALLED
from surefoot.errors import UserError, require_whole_number
from surefoot.text import error_line

LOOPBACK_ONLY = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""At 0, everywhere as on those systems: a cluster that is started here is for this machine alone."""
ADDRESS = re.compile(r"[^\s/]+:[0-9]+|auto")
"""Of a cluster that is there; `auto` finds this machine's. Given `local` or nothing, Ray would start one."""
ASK_EVERY = 5.0
"""Seconds between two looks at the cluster."""
PATIENCE = 20.0
"""Seconds without an answer after which it is lost."""


def run_task(words: str, log: str) -> str:
    """On a node of the cluster: the command as a process, pinned to a core that is free there.

    Returns its exit code. Whatever ends this task ends the process, in order.
    """
    # How Ray asks a task to end; nodes that were started from a script may have been told to ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with reserve_core() as core:
        process = start_attached([*json.loads(words), "--core", str(core)], Path(log))
        try:
            while process.poll() is None:  # Waiting for it, one would not hear of an interruption.
                time.sleep(PAUSE)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        return str(process.returncode)


class Cluster:
    """A cluster as its driver sees it: how many cores it has, and whether it is still there."""

    def __init__(self, ray: Any, jobs: int | None) -> None:
        self._ray, self._jobs = ray, jobs
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        self._head = host, int(port)
        self._asked, self._slots = -math.inf, 1
        self._heard = time.monotonic()

    def slots(self) -> int:
        """Runs that can go on at once, as of the last look."""
        self.look()
        return self._slots

    def look(self) -> None:
        """Say in one line that the cluster is gone: Ray would ask it for a minute, then end this process."""
        now = time.monotonic()
        if now < self._asked + ASK_EVERY:
            return
        self._asked = now
        try:
            socket.create_connection(self._head, timeout=ASK_EVERY).close()
        except OSError as error:
            if now > self._heard + PATIENCE:
                words = f"the cluster is lost ({error_line(error)}); once it is back the same command goes on"
                raise UserError(f"--address: {words}") from error
        else:
            self._heard = now
            self._slots = self._jobs or max(1, int(self._ray.cluster_resources().get("CPU", 1)))


class RayWorker:
    """A task under way."""

    def __init__(self, ray: Any, cluster: Cluster, task: Any, log: Path) -> None:
        self._ray, self._cluster, self._task, self._log = ray, cluster, task, log

    def exit_code(self) -> int | None:
        """How it ended; a worker or a node that is gone counts as killed."""
        self._cluster.look()
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
                words.write(f"{error_line(error.cause)}\n")
            return 1
        except errors.RayError:
            return -signal.SIGKILL

    def stop(self) -> None:
        """As an interruption would."""
        self._ray.cancel(self._task)


class RayEngine:
    """A cluster that is there, or one on this machine for the time being."""

    def __init__(self, address: str | None = None, jobs: int | None = None) -> None:
        most = None if jobs is None else require_whole_number("--jobs", jobs, 1)
        if address is not None and not ADDRESS.fullmatch(address):
            raise UserError(f"--address: got {address or 'nothing'}, accepted: HOST:PORT, auto")
        # Read when it is imported, and by the nodes that it starts.
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if address is None:
            os.environ[LOOPBACK_ONLY] = "0"
            # Of its own, for as long as it lasts: Ray would leave one in a file that others can read.
            os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        try:
            self._ray: Any = import_module("ray")
        except ImportError:
            raise UserError("--engine: ray is not installed, accepted: pip install 'surefoot[ray]'") from None
        where = {"address": "local", "include_dashboard": False} if address is None else {"address": address}
        try:
            self._ray.init(**where, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            flag = "--engine: got ray" if address is None else f"--address: got {address}"
            raise UserError(f"{flag}, {error_line(error)}") from error
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(run_task)
        self._cluster = Cluster(self._ray, most)

    @property
    def slots(self) -> int:
        """As many as the cluster has cores now."""
        return self._cluster.slots()

    def start(self, arguments: list[str], log: Path) -> RayWorker:
        """Begin wherever there is room."""
        task = self._task.remote(json.dumps(arguments), str(log))
        return RayWorker(self._ray, self._cluster, task, log)

    def close(self) -> None:
        """Leave the cluster, or end the one that was started."""
        self._ray.shutdown()
