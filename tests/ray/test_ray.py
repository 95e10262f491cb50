"""A sweep on a cluster of two workers, one of which dies: all is done once, and as this machine does it."""

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
from helpers import CLIFF, assert_same_run, finished

RUNS = 8
PLAN = f"""
[defaults]
env = "{CLIFF}"
agent = "dqn"
network = "mlp:8"
steps = 300
learning_starts = 50
batch_size = 8
replay_capacity = 200
eval_every = 0
log_every = 50
checkpoint_every = 100

[[runs]]
name = "seed{{seed}}"
seed = {list(range(RUNS))}
"""


def a_free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


class Cluster:
    """A head without cores, and workers with one each, all on loopback."""

    def __init__(self):
        self.home = Path(tempfile.mkdtemp(prefix="ray-"))  # Short: sockets are in it.
        self.address = f"127.0.0.1:{a_free_port()}"
        self.environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": secrets.token_hex(32),
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        port = self.address.rsplit(":", 1)[1]
        self.nodes = [self._start("--head", "--port", port, "--num-cpus", "0", "--temp-dir", str(self.home))]
        self._wait_for_head(int(port))
        self.nodes += [self._start("--address", self.address, "--num-cpus", "1") for _ in range(2)]

    def _start(self, *arguments):
        ray = Path(sys.executable).with_name("ray")
        words = (self.home / "nodes.txt").open("ab")
        return subprocess.Popen(
            [
                *(str(ray), "start", "--block", "--node-ip-address", "127.0.0.1", *arguments),
                *("--include-dashboard", "false", "--disable-usage-stats"),
                *("--object-store-memory", "100000000"),
            ],
            env=self.environment,
            stdout=words,
            stderr=words,
            start_new_session=True,
        )

    def _wait_for_head(self, port):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as trying:
                if trying.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.2)
        raise AssertionError((self.home / "nodes.txt").read_text())

    def kill(self, node):
        """A node with all its processes, as when a machine goes down."""
        os.killpg(node.pid, signal.SIGKILL)
        node.wait()

    def close(self):
        for node in self.nodes:
            if node.poll() is None:
                self.kill(node)
        shutil.rmtree(self.home, ignore_errors=True)


@pytest.fixture
def cluster():
    made = Cluster()
    yield made
    made.close()


def sweep(plan, home, *arguments, environment=None):
    return subprocess.Popen(
        [sys.executable, "-m", "surefoot", "sweep", str(plan), "--out", str(home), *arguments],
        env=environment or dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def done_in(home):
    path = home / "ledger.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return Counter(line["run"] for line in lines if line["event"] == "done")


def test_a_cluster_that_loses_a_worker_does_every_run_once_and_as_this_machine_does(tmp_path, cluster):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    process = sweep(
        plan,
        tmp_path / "ray",
        *("--engine", "ray", "--address", cluster.address),
        environment=cluster.environment,
    )
    deadline = time.monotonic() + 120
    while not done_in(tmp_path / "ray") and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert process.poll() is None, finished(process)
    assert 0 < sum(done_in(tmp_path / "ray").values()) < RUNS
    cluster.kill(cluster.nodes[-1])
    code, out, err = finished(process, timeout=240)
    assert code == 0, (out, err)
    assert done_in(tmp_path / "ray") == Counter(f"seed{seed}" for seed in range(RUNS))
    code, out, err = finished(sweep(plan, tmp_path / "local"), timeout=240)
    assert code == 0, (out, err)
    for seed in range(RUNS):
        assert_same_run(
            tmp_path / "local" / "runs" / f"seed{seed}", tmp_path / "ray" / "runs" / f"seed{seed}"
        )


def test_a_cluster_that_is_not_there_is_one_line(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    process = sweep(plan, tmp_path / "out", "--engine", "ray", "--address", f"127.0.0.1:{a_free_port()}")
    code, _, err = finished(process, timeout=120)
    assert code == 2
    assert "--address" in err.splitlines()[-1]
    assert "Traceback" not in err
