"""Runs as tasks of a Ray cluster. A task gets text only: a command's arguments, and the path of its log."""

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

from surefoot.errors import UserError, require_whole_number
from surefoot.sweeps.local_engine import start_attached
from surefoot.sweeps.runner import POLL_SECONDS, SIGNAL_EXIT_BASE
from surefoot.system.cores import reserve_core
from surefoot.text import error_line

CLUSTER_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""An environment variable of Ray: at 0, a cluster that is started here listens on loopback only."""
ADDRESS_PATTERN = re.compile(r"[^\s/]+:[0-9]+|auto")
"""The address of a running cluster; `auto` finds that of this machine. At `local`, Ray would start one."""
CHECK_SECONDS = 5.0
"""Time between two checks of the cluster."""
MAX_SILENT_SECONDS = 20.0
"""Time without an answer after which the cluster counts as lost."""


def run_task(arguments: str, log: str) -> str:
    """Run `surefoot` on a node of the cluster, pinned to a free core there, and return its exit code.

    `arguments` is a list in JSON. However this task ends, the process saves and exits.
    """
    # Ray cancels a task by SIGINT, which nodes that were started from a script may ignore.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with reserve_core() as core:
        process = start_attached([*json.loads(arguments), "--core", str(core)], Path(log))
        try:
            while process.poll() is None:  # In `process.wait()` a cancellation would go unnoticed.
                time.sleep(POLL_SECONDS)
        except BaseException:
            process.terminate()
            process.wait()
            raise
        return str(process.returncode)


class Cluster:
    """A Ray cluster: how many cores it has, and whether it still answers."""

    def __init__(self, ray: Any, jobs: int | None) -> None:
        self._ray, self._jobs = ray, jobs
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        self._head = host, int(port)
        self._last_check, self._slots = -math.inf, 1
        self._last_answer = time.monotonic()

    def slots(self) -> int:
        """The number of runs that can run at once, as of the last check."""
        self.check()
        return self._slots

    def check(self) -> None:
        """Raise an error if the cluster is lost, before Ray ends this process after a minute."""
        now = time.monotonic()
        if now < self._last_check + CHECK_SECONDS:
            return
        self._last_check = now
        try:
            socket.create_connection(self._head, timeout=CHECK_SECONDS).close()
        except OSError as error:
            if now > self._last_answer + MAX_SILENT_SECONDS:
                lost = f"the cluster is lost ({error_line(error)})"
                raise UserError(f"address: {lost}; the same command continues once it is back") from error
        else:
            self._last_answer = now
            self._slots = self._jobs or max(1, int(self._ray.cluster_resources().get("CPU", 1)))


class RayWorker:
    """A task of a Ray cluster that runs `surefoot`."""

    def __init__(self, ray: Any, cluster: Cluster, task: Any, log: Path) -> None:
        self._ray, self._cluster, self._task, self._log = ray, cluster, task, log

    def exit_code(self) -> int | None:
        """The exit code, None while the task runs; that of a killed process if its node is lost."""
        self._cluster.check()
        finished, _ = self._ray.wait([self._task], timeout=0)
        if not finished:
            return None
        errors = self._ray.exceptions
        try:
            return int(self._ray.get(self._task))
        except errors.TaskCancelledError:
            return SIGNAL_EXIT_BASE + signal.SIGTERM
        except errors.RayTaskError as error:
            with self._log.open("a") as output:
                output.write(f"{error_line(error.cause)}\n")
            return 1
        except errors.RayError:
            return -signal.SIGKILL

    def stop(self) -> None:
        """Cancel the task, at which its process saves and exits."""
        self._ray.cancel(self._task)


class RayEngine:
    """A Ray cluster that runs already, or one on this machine that lasts as long as this engine."""

    def __init__(self, address: str | None = None, jobs: int | None = None) -> None:
        max_slots = None if jobs is None else require_whole_number("jobs", jobs, 1)
        if address is not None and not ADDRESS_PATTERN.fullmatch(address):
            raise UserError(f"address: got {address or 'nothing'}, accepted: HOST:PORT, auto")
        # Ray reads the environment when it is imported, and the nodes that it starts inherit it.
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if address is None:
            os.environ[CLUSTER_VARIABLE] = "0"
            # A token for this cluster alone: Ray would write one to a file that others can read.
            os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
        try:
            self._ray: Any = import_module("ray")
        except ImportError:
            accepted = "local, or ray after pip install 'surefoot[ray]'"
            raise UserError(f"engine: got ray, which is not installed, accepted: {accepted}") from None
        where = {"address": "local", "include_dashboard": False} if address is None else {"address": address}
        try:
            self._ray.init(**where, log_to_driver=False, logging_level="ERROR")
        except Exception as error:
            field = "engine: got ray" if address is None else f"address: got {address}"
            raise UserError(f"{field}, {error_line(error)}") from error
        self._task = self._ray.remote(num_cpus=1, max_retries=0)(run_task)
        self._cluster = Cluster(self._ray, max_slots)

    @property
    def slots(self) -> int:
        """The number of cores that the cluster has now, or `jobs`."""
        return self._cluster.slots()

    def start(self, arguments: list[str], log: Path) -> RayWorker:
        """Start `surefoot` on a node of the cluster that has a free core."""
        task = self._task.remote(json.dumps(arguments), str(log))
        return RayWorker(self._ray, self._cluster, task, log)

    def close(self) -> None:
        """Leave the cluster; one that this engine started ends."""
        self._ray.shutdown()
