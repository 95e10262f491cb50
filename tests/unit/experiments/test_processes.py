"""Many tasks over processes: each once, each process on a core of its own."""

import multiprocessing
import os
import signal
import time

import pytest

from surefoot.experiments import processes
from surefoot.types import UserError


def where(task):
    """The task, and where it ran."""
    return task, os.getpid(), tuple(sorted(os.sched_getaffinity(0)))


def fails_on_three(task):
    if task == 3:
        raise ValueError("three")
    return task


def test_every_task_is_done_once_on_one_core():
    results = list(processes.run_all(where, range(6), None))
    assert sorted(task for task, _ in results) == list(range(6))
    assert all(found[0] == task for task, found in results)
    assert all(len(cores) == 1 for _, (_, _, cores) in results)
    core_of = {pid: cores for _, (_, pid, cores) in results}
    assert os.getpid() not in core_of
    assert len(set(core_of.values())) == len(core_of)


def test_jobs_limit_the_processes():
    results = list(processes.run_all(where, range(4), 1))
    assert len({pid for _, (_, pid, _) in results}) == 1


def test_a_failure_reaches_the_caller():
    with pytest.raises(ValueError, match="three"):
        list(processes.run_all(fails_on_three, range(5), 1))


def ends_itself(task):
    os.kill(os.getpid(), signal.SIGKILL)
    return task


def sleeps(task):
    if task:
        time.sleep(600)
    return task


def test_a_process_that_dies_is_reported():
    with pytest.raises(UserError, match="ended from outside"):
        list(processes.run_all(ends_itself, range(3), 1))


def test_whoever_stops_early_does_not_wait_for_tasks_under_way():
    results = processes.run_all(sleeps, range(4), 2)
    assert next(results) == (0, 0)
    results.close()
    assert not multiprocessing.active_children()


def test_no_jobs_are_refused():
    with pytest.raises(UserError, match="--jobs: got 0, accepted: whole numbers from 1"):
        next(processes.run_all(where, [1], 0))
