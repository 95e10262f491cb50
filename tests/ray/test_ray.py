"""A sweep on a cluster of two workers, one of which dies: all is done once, and as this machine does it."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
from tests.faults.helpers import assert_same_run, finished, tiny_plan

from surefoot.runs import directory
from surefoot.runs.log_files import read_metrics
from surefoot.sweeps.ray_engine import LOOPBACK_ONLY

RUNS = 8
TOKEN = secrets.token_hex(32)  # Ray reads it once in a process.


@pytest.fixture
def cluster(monkeypatch):
    """A head without cores, and two workers with one each, all on loopback."""
    told = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": TOKEN,
        "RAY_USAGE_STATS_ENABLED": "0",
        LOOPBACK_ONLY: "0",
    }
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    small = {"object_store_memory": 100_000_000}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **small})
    assert made.address.startswith("127.0.0.1:")
    yield made, [made.add_node(num_cpus=1, **small) for _ in range(2)]
    made.shutdown()


def sweep(plan, home, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "surefoot", "sweep", str(plan), "--out", str(home), *arguments],
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def done_in(home):
    path = home / "ledger.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return Counter(line["run"] for line in lines if line["event"] == "done")


def test_a_cluster_that_loses_a_worker_does_every_run_once_and_as_this_machine_does(tmp_path, cluster):
    nodes, (_, doomed) = cluster
    plan = tiny_plan(tmp_path, RUNS)
    process = sweep(plan, tmp_path / "ray", "--engine", "ray", "--address", nodes.address)
    deadline = time.monotonic() + 120
    while not done_in(tmp_path / "ray") and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert process.poll() is None, finished(process)
    assert 0 < sum(done_in(tmp_path / "ray").values()) < RUNS
    nodes.remove_node(doomed, allow_graceful=False)
    code, out, err = finished(process, timeout=240)
    assert code == 0, (out, err)
    assert done_in(tmp_path / "ray") == Counter(f"seed{seed}" for seed in range(RUNS))
    code, out, err = finished(sweep(plan, tmp_path / "local"), timeout=240)
    assert code == 0, (out, err)
    for seed in range(RUNS):
        assert_same_run(
            tmp_path / "local" / "runs" / f"seed{seed}", tmp_path / "ray" / "runs" / f"seed{seed}"
        )


def first_log(home, process):
    """Wait until each of two runs has logged something."""
    deadline = time.monotonic() + 120
    while len([run for run in home.glob("runs/*") if read_metrics(run)]) < 2:
        assert process.poll() is None, finished(process)
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_an_interruption_lets_runs_on_a_cluster_save(tmp_path):
    plan = tiny_plan(tmp_path, 2, steps=1_000_000)
    process = sweep(plan, tmp_path / "ray", "--engine", "ray", "--jobs", "2")
    first_log(tmp_path / "ray", process)
    process.send_signal(signal.SIGTERM)
    code, _, err = finished(process, timeout=60)
    assert code == 128 + signal.SIGTERM
    assert "Traceback" not in err
    for run in (tmp_path / "ray" / "runs").iterdir():
        saved, logged = directory.last_checkpoint(run), read_metrics(run)[-1]["step"]
        assert directory.step_of(saved) >= logged, "not all was saved"


def test_a_cluster_that_is_lost_is_one_line_within_a_minute(tmp_path, cluster):
    nodes, _ = cluster
    plan = tiny_plan(tmp_path, 2, steps=1_000_000)
    process = sweep(plan, tmp_path / "ray", "--engine", "ray", "--address", nodes.address)
    first_log(tmp_path / "ray", process)
    nodes.remove_node(nodes.head_node, allow_graceful=False)
    code, _, err = finished(process, timeout=55)
    assert code == 2, err
    assert "the cluster is lost" in err.splitlines()[-1]
    assert "Traceback" not in err


def test_a_cluster_that_is_not_there_is_one_line(tmp_path):
    plan = tiny_plan(tmp_path, RUNS)
    process = sweep(plan, tmp_path / "out", "--engine", "ray", "--address", "127.0.0.1:1")
    code, _, err = finished(process, timeout=120)
    assert code == 2
    assert "--address" in err.splitlines()[-1]
    assert "Traceback" not in err


def test_ray_accepts_the_cluster_that_the_documentation_gives():
    from ray.autoscaler._private.util import prepare_config, validate_config

    path = Path(__file__).parents[2] / "docs" / "cluster.yaml"
    config = yaml.safe_load(path.read_text())
    validate_config(prepare_config(config))
    started = " ".join([*config["head_start_ray_commands"], *config["worker_start_ray_commands"]])
    assert started.count("RAY_AUTH_MODE=token") == 2
    assert "--include-dashboard=false" in started
