"""Sweeps whose workers or own process are killed: every run is done once, with unchanged results."""

import os
import random
import signal
import time
from collections import Counter
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from surefoot.model import model_class
from surefoot.runs import directory
from surefoot.runs.log_files import read_metrics
from surefoot.sweeps.plan import read_plan
from tests.faults.helpers import assert_same_run, command, finished, tiny_plan
from tests.faults.sweep_helpers import done_counts, ledger_lines, wait_until


def start_sweep(plan, sweep_dir):
    return command("sweep", plan, "--out", sweep_dir)


def workers_of(process):
    """The ids of the processes that a sweep has started."""
    listing = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    try:
        return [int(number) for number in listing.read_text().split()]
    except OSError:
        return []


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """A function from a seed to the directory of a run of the tiny plan that is trained without a sweep."""
    home = tmp_path_factory.mktemp("undisturbed")

    @cache
    def train(seed):
        *_, run = read_plan(tiny_plan(home, seed + 1))
        settings = dict(run.settings)
        schedule = {
            name: settings.pop(name) or None for name in ("log_every", "checkpoint_every", "eval_every")
        }
        model = model_class(settings.pop("agent"))(**settings)
        model.learn(run.steps, out=home / run.name, progress=False, **schedule)
        return home / run.name

    return train


def assert_all_done_once_with_equal_results(sweep_dir, undisturbed, count):
    assert done_counts(sweep_dir) == Counter(f"seed{seed}" for seed in range(count))
    assert not [line for line in ledger_lines(sweep_dir) if line["event"] == "failed"]
    for seed in range(count):
        assert_same_run(undisturbed(seed), sweep_dir / "runs" / f"seed{seed}")


@pytest.mark.slow
def test_every_run_is_done_once_when_workers_are_killed(tmp_path, amount, reached, undisturbed):
    count, random_times, kills = amount(2, 100), random.Random(0), 0
    max_kills = amount(count, 2 * count)
    process = start_sweep(tiny_plan(tmp_path, count), tmp_path / "disturbed")
    kill_times: dict[int, float] = {}
    while process.poll() is None:
        for worker in workers_of(process):
            # Every second worker is killed as it starts, the others some seconds later, if they still run.
            wait = random_times.uniform(2, 6) if len(kill_times) % 2 else random_times.uniform(0, 1)
            kill_time = kill_times.setdefault(worker, time.monotonic() + wait)
            if time.monotonic() > kill_time and kills < max_kills:
                kill_times[worker] = float("inf")
                kills += 1
                with suppress(ProcessLookupError):  # It may have exited by itself.
                    os.kill(worker, signal.SIGKILL)
        time.sleep(0.02)
    code, out, err = finished(process)
    assert code == 0, (out, err)
    assert kills >= count // 2
    assert_all_done_once_with_equal_results(tmp_path / "disturbed", undisturbed, count)
    reached("sweep", f"{kills} kills of workers in {count} runs", "each done once, bit-identical")


def test_every_run_is_done_once_when_the_sweep_is_killed(tmp_path, amount, reached, undisturbed):
    count, kills, random_times = amount(2, 20), amount(1, 3), random.Random(1)
    plan = tiny_plan(tmp_path, count)
    for number in range(kills):
        process = start_sweep(plan, tmp_path / "disturbed")
        if number == 0:
            wait_until(lambda: done_counts(tmp_path / "disturbed"), process)
        else:
            time.sleep(random_times.uniform(1, 4 + count))
        process.send_signal(signal.SIGKILL)
        process.communicate()
    code, out, err = finished(start_sweep(plan, tmp_path / "disturbed"), timeout=120 + 10 * count)
    assert code == 0, (out, err)
    assert_all_done_once_with_equal_results(tmp_path / "disturbed", undisturbed, count)
    reached("sweep", f"{kills} kills of the driver of {count} runs", "each done once, bit-identical")


@pytest.mark.slow
def test_at_an_interruption_runs_save_and_the_same_command_continues(tmp_path):
    plan = tiny_plan(tmp_path, 2)
    process = start_sweep(plan, tmp_path / "sweep")
    wait_until(lambda: list((tmp_path / "sweep").glob("runs/*/metrics.jsonl")), process)
    workers = workers_of(process)
    os.killpg(process.pid, signal.SIGINT)  # A terminal sends Ctrl-C to the whole group.
    code, _, err = finished(process, timeout=30)
    assert code in {0, 130}
    assert "Traceback" not in err
    assert not [worker for worker in workers if Path(f"/proc/{worker}/stat").exists()]
    for run in (tmp_path / "sweep" / "runs").iterdir():
        logged = [line["step"] for line in read_metrics(run)]
        saved = directory.last_checkpoint(run)
        assert not logged or int(saved.name.removeprefix("step_")) >= logged[-1], (
            "a logged step was not saved"
        )
    code, out, _ = finished(start_sweep(plan, tmp_path / "sweep"), timeout=90)
    assert code == 0
    assert "2 done" in out
