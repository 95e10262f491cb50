"""Sweeps whose workers and drivers are killed: every run is done exactly once, and ends the same."""

import json
import os
import random
import signal
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from surefoot.runs import directory
from surefoot.runs.log_files import read_metrics

from tests.faults.helpers import assert_same_run, command, finished, tiny_plan


def sweep(plan, home):
    return command("sweep", plan, "--out", home)


def workers_of(process):
    """The runs that a sweep has started."""
    listing = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        return [int(number) for number in listing.read_text().split()]
    except OSError:
        return []


def assert_done_once_and_the_same(undisturbed, disturbed, count):
    ledger = [json.loads(line) for line in (disturbed / "ledger.jsonl").read_text().splitlines()]
    done = Counter(line["run"] for line in ledger if line["event"] == "done")
    assert done == Counter(f"seed{seed}" for seed in range(count))
    assert not [line for line in ledger if line["event"] == "failed"]
    for seed in range(count):
        assert_same_run(undisturbed / "runs" / f"seed{seed}", disturbed / "runs" / f"seed{seed}")


def test_every_run_is_done_once_though_workers_are_killed(tmp_path, amount, reached):
    count, chance, kills = amount(3, 100), random.Random(0), 0
    plan = tiny_plan(tmp_path, count)
    code, _, err = finished(sweep(plan, tmp_path / "undisturbed"), timeout=60 + 10 * count)
    assert code == 0, err
    process = sweep(plan, tmp_path / "disturbed")
    seen: dict[int, float] = {}
    while process.poll() is None:
        for worker in workers_of(process):
            # Every second one as it starts, the others at some moment later, if they have not ended by then.
            wait = chance.uniform(2, 6) if len(seen) % 2 else chance.uniform(0, 1)
            moment = seen.setdefault(worker, time.monotonic() + wait)
            if time.monotonic() > moment and kills < 2 * count:
                seen[worker] = float("inf")
                kills += 1
                with suppress(ProcessLookupError):  # It may have left by itself.
                    os.kill(worker, signal.SIGKILL)
        time.sleep(0.02)
    code, out, err = finished(process)
    assert code == 0, (out, err)
    assert kills >= count // 2
    assert_done_once_and_the_same(tmp_path / "undisturbed", tmp_path / "disturbed", count)
    reached("sweep", f"{kills} kills of workers in {count} runs", "each done once, bit-identical")


def test_every_run_is_done_once_though_the_sweep_is_killed(tmp_path, amount, reached):
    count, chance = amount(3, 20), random.Random(1)
    plan = tiny_plan(tmp_path, count)
    code, _, err = finished(sweep(plan, tmp_path / "undisturbed"), timeout=60 + 10 * count)
    assert code == 0, err
    for _ in range(3):
        process = sweep(plan, tmp_path / "disturbed")
        time.sleep(chance.uniform(1, 4 + count))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    code, out, err = finished(sweep(plan, tmp_path / "disturbed"), timeout=120 + 10 * count)
    assert code == 0, (out, err)
    assert_done_once_and_the_same(tmp_path / "undisturbed", tmp_path / "disturbed", count)
    reached("sweep", f"3 kills of the driver of {count} runs", "each done once, bit-identical")


def test_an_interruption_lets_the_runs_save_and_the_same_command_goes_on(tmp_path):
    plan = tiny_plan(tmp_path, 2)
    process = sweep(plan, tmp_path / "sweep")
    deadline = time.monotonic() + 60
    while not list((tmp_path / "sweep").glob("runs/*/metrics.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.02)
    workers = workers_of(process)
    os.killpg(process.pid, signal.SIGINT)  # As a terminal does.
    code, _, err = finished(process, timeout=30)
    assert code in {0, 130}
    assert "Traceback" not in err
    assert not [worker for worker in workers if Path(f"/proc/{worker}/stat").exists()]
    for run in (tmp_path / "sweep" / "runs").iterdir():
        logged = [line["step"] for line in read_metrics(run)]
        saved = directory.last_checkpoint(run)
        assert not logged or int(saved.name.removeprefix("step_")) >= logged[-1], "not all was saved"
    code, out, _ = finished(sweep(plan, tmp_path / "sweep"), timeout=90)
    assert code == 0
    assert "2 done" in out
