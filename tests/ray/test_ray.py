"""Sweeps on a Ray cluster that loses a worker, is interrupted, or is lost: nothing is lost or done twice."""

import os
import secrets
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from surefoot.runs import directory
from surefoot.runs.log_files import read_metrics
from surefoot.sweeps.ray_engine import CLUSTER_VARIABLE
from tests.faults.helpers import assert_same_run, finished, tiny_plan
from tests.faults.sweep_helpers import done_counts, wait_until

RUNS = 8
TOKEN = secrets.token_hex(32)  # One for all tests: Ray reads it only once in a process.


@pytest.fixture
def cluster(monkeypatch):
    """A head without cores, and two workers with one each, all on loopback."""
    variables = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": TOKEN,
        "RAY_USAGE_STATS_ENABLED": "0",
        CLUSTER_VARIABLE: "0",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    from ray.cluster_utils import Cluster

    memory = {"object_store_memory": 100_000_000}
    started = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, **memory}
    )
    assert started.address.startswith("127.0.0.1:")
    yield started, [started.add_node(num_cpus=1, **memory) for _ in range(2)]
    started.shutdown()


def start_sweep(plan, sweep_dir, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "surefoot", "sweep", str(plan), "--out", str(sweep_dir), *arguments],
        env=dict(os.environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_every_run_is_done_once_when_a_worker_is_lost_with_the_results_of_this_machine(tmp_path, cluster):
    nodes, (_, lost_node) = cluster
    plan = tiny_plan(tmp_path, RUNS)
    process = start_sweep(plan, tmp_path / "ray", "--engine", "ray", "--address", nodes.address)
    wait_until(lambda: done_counts(tmp_path / "ray"), process)
    assert 0 < sum(done_counts(tmp_path / "ray").values()) < RUNS
    nodes.remove_node(lost_node, allow_graceful=False)
    code, out, err = finished(process, timeout=240)
    assert code == 0, (out, err)
    assert done_counts(tmp_path / "ray") == Counter(f"seed{seed}" for seed in range(RUNS))
    code, out, err = finished(start_sweep(plan, tmp_path / "local"), timeout=240)
    assert code == 0, (out, err)
    for seed in range(RUNS):
        assert_same_run(
            tmp_path / "local" / "runs" / f"seed{seed}", tmp_path / "ray" / "runs" / f"seed{seed}"
        )


def wait_for_two_logs(sweep_dir, process):
    """Wait until each of two runs has logged an entry."""
    wait_until(lambda: len([run for run in sweep_dir.glob("runs/*") if read_metrics(run)]) == 2, process)


def test_at_an_interruption_runs_on_a_cluster_save(tmp_path):
    plan = tiny_plan(tmp_path, 2, steps=1_000_000)
    process = start_sweep(plan, tmp_path / "ray", "--engine", "ray", "--jobs", "2")
    wait_for_two_logs(tmp_path / "ray", process)
    process.send_signal(signal.SIGTERM)
    code, _, err = finished(process, timeout=60)
    assert code == 128 + signal.SIGTERM
    assert "Traceback" not in err
    for run in (tmp_path / "ray" / "runs").iterdir():
        saved, logged = directory.last_checkpoint(run), read_metrics(run)[-1]["step"]
        assert directory.step_of(saved) >= logged, "a logged step was not saved"


def test_a_lost_cluster_is_one_line_within_a_minute(tmp_path, cluster):
    nodes, _ = cluster
    plan = tiny_plan(tmp_path, 2, steps=1_000_000)
    process = start_sweep(plan, tmp_path / "ray", "--engine", "ray", "--address", nodes.address)
    wait_for_two_logs(tmp_path / "ray", process)
    nodes.remove_node(nodes.head_node, allow_graceful=False)
    code, _, err = finished(process, timeout=55)
    assert code == 2, err
    assert "the cluster is lost" in err.splitlines()[-1]
    assert "Traceback" not in err


def test_a_cluster_that_does_not_exist_is_one_line(tmp_path):
    plan = tiny_plan(tmp_path, RUNS)
    process = start_sweep(plan, tmp_path / "out", "--engine", "ray", "--address", "127.0.0.1:1")
    code, _, err = finished(process, timeout=120)
    assert code == 2
    assert "--address" in err.splitlines()[-1]
    assert "Traceback" not in err


def test_ray_accepts_the_cluster_of_the_documentation():
    from ray.autoscaler._private.util import prepare_config, validate_config

    path = Path(__file__).parents[2] / "docs" / "cluster.yaml"
    config = yaml.safe_load(path.read_text())
    validate_config(prepare_config(config))
    commands = " ".join([*config["head_start_ray_commands"], *config["worker_start_ray_commands"]])
    assert commands.count("RAY_AUTH_MODE=token") == 2
    assert "--include-dashboard=false" in commands
