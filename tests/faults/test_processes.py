"""Signals and locks, with the command as users run it."""

import json
import signal
import time

import pytest

import surefoot
from surefoot.runs import checkpoint, directory
from surefoot.runs.log_files import read_metrics
from tests.faults.helpers import FLAGS, command, finished
from tests.small_models import CLIFF

LONG = [
    "train",
    "--agent",
    "dqn",
    "--steps",
    "10000000",
    *FLAGS[:10],
    "--log-every",
    "500",
    "--eval-every",
    "100000",
]


def wait_for_training(process, out):
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        if (out / "metrics.jsonl").exists() and read_metrics(out):
            return
        time.sleep(0.01)
    raise AssertionError("no training")


@pytest.mark.parametrize(
    ("number", "code", "env"),
    [
        (signal.SIGINT, 130, CLIFF),
        (signal.SIGTERM, 143, "CartPole-v1"),
        pytest.param(signal.SIGINT, 130, "CartPole-v1", marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 143, CLIFF, marks=pytest.mark.slow),
    ],
)
def test_a_signal_saves_and_exits_soon(tmp_path, env, number, code):
    out = tmp_path / "run"
    process = command(*LONG, "--env", env, "--out", out)
    wait_for_training(process, out)
    begun = time.monotonic()
    process.send_signal(number)
    found, _, err = finished(process, timeout=10)
    assert time.monotonic() - begun < 10
    assert found == code
    assert "Traceback" not in err
    newest = directory.newest_checkpoint(out)
    assert not newest.damaged
    assert newest.manifest.step >= read_metrics(out)[-1]["step"] > 0
    assert surefoot.load(newest.path).num_timesteps == newest.manifest.step


def test_a_second_signal_exits_at_once_and_the_older_checkpoint_is_not_damaged(tmp_path):
    out = tmp_path / "run"
    process = command(*LONG, "--env", CLIFF, "--out", out)
    wait_for_training(process, out)
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
    found, _, err = finished(process, timeout=10)
    assert found == 143
    assert "Traceback" not in err
    good = directory.newest_checkpoint(out)
    assert good.path is not None
    checkpoint.verify(good.path, good.manifest)


def test_of_many_that_start_at_once_exactly_one_runs(tmp_path, amount, reached):
    count, out = amount(3, 60), tmp_path / "run"
    quick = ["train", "--env", CLIFF, "--agent", "dqn", "--steps", "60", "--out", out, *FLAGS]
    processes = [command(*quick) for _ in range(count)]
    ends = [finished(process, timeout=300) for process in processes]
    assert sorted(code for code, _, _ in ends) == [0] + [2] * (count - 1)
    for code, _, err in ends:
        line = err.strip().splitlines()[-1]
        assert code == 0 or ("in use by process" in line and " on " in line) or "already holds" in line
        assert "Traceback" not in err
    assert read_metrics(out)[-1]["step"] == 60
    reached("two writers", f"{count} simultaneous starts", "exactly one ran, the others exit 2")


@pytest.mark.slow
def test_a_lock_is_released_as_soon_as_its_holder_is_killed(tmp_path):
    out = tmp_path / "run"
    process = command(*LONG, "--env", CLIFF, "--out", out)
    wait_for_training(process, out)
    code, _, err = finished(command("train", "--resume", out))
    assert code == 2
    assert f"in use by process {process.pid} on " in err
    process.kill()
    process.communicate()
    config = json.loads((out / "config.json").read_text())
    directory.write_config(out, {**config, "steps": 1})
    directory.lock(out).release()
    code, _, err = finished(command("train", "--resume", out))
    assert code in {0, 2}, err
    assert "in use" not in err
