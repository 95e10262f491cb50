"""What a sweep shows."""

import io
import json

import pytest
from rich.console import Console

from surefoot.runs.log_files import METRICS, TIMING
from surefoot.sweeps import progress_table
from surefoot.sweeps.plan import PlannedRun
from surefoot.sweeps.runner import Phase, Status, path_of


def status(name, phase, steps=1_000, why=""):
    return Status(PlannedRun(name=name, steps=steps, settings={}), phase, why)


def write_log(home, each, step, speed, gain):
    path = path_of(home, each.run)
    path.mkdir(parents=True)
    (path / METRICS).write_text(json.dumps({"step": step, "rollout/ep_rew_mean": gain}) + "\n")
    (path / TIMING).write_text(json.dumps({"step": step, "time/fps": speed}) + "\n")


@pytest.fixture
def sweep(tmp_path):
    """Four runs, one in each phase."""
    found = [
        status("first", Phase.DONE),
        status("second", Phase.RUNNING),
        status("third", Phase.FAILED, why="--env: no [such] world"),
        status("fourth", Phase.WAITING),
    ]
    write_log(tmp_path, found[0], 1_000, 200.0, 7.25)
    write_log(tmp_path, found[1], 400, 50.0, -3.0)
    return found


def rendered(shown):
    console = Console(width=100, file=io.StringIO())
    console.print(shown)
    return [line.strip() for line in console.file.getvalue().splitlines() if line.strip()]


def test_a_line_says_how_far_how_fast_how_well_and_how_long_yet(tmp_path, sweep):
    head, _, *lines = rendered(progress_table.table_of([progress_table.glance_at(tmp_path, each) for each in sweep]))
    assert head.split() == ["run", "steps", "steps/s", "return", "left"]
    assert lines[0].split() == ["first", "1,000/1,000", "200", "7.25", "done"]
    assert lines[1].split() == ["second", "400/1,000", "50", "-3", "0:12", "running"]
    assert lines[2].split() == ["third", "0/1,000", "failed"]
    assert lines[3] == "--env: no [such] world"
    assert lines[4].split() == ["fourth", "0/1,000", "waiting"]


def test_the_time_left_is_not_moved_by_a_run_that_still_compiles(tmp_path, sweep):
    fresh = status("fifth", Phase.RUNNING)
    write_log(tmp_path, fresh, 400, 0.01, 0.0)
    # 600 + 600 + 1,000 steps, two at a time, at the middle one of 1/200, 1/50 and 100 seconds each.
    counts = progress_table.counts_of([progress_table.glance_at(tmp_path, each) for each in [*sweep, fresh]])
    assert counts.endswith("about 0:22 left")


def test_the_time_left_takes_those_that_wait_for_average(tmp_path, sweep):
    # 600 + 1,000 steps, one at a time, midway between 1/200 and 1/50 of a second each.
    counts = progress_table.counts_of([progress_table.glance_at(tmp_path, each) for each in sweep])
    assert counts == "1 waiting, 1 running, 1 done, 1 failed, about 0:20 left"


def test_nothing_is_promised_before_anything_is_known(tmp_path):
    waiting = [status("one", Phase.RUNNING), status("two", Phase.WAITING)]
    assert progress_table.counts_of([progress_table.glance_at(tmp_path, each) for each in waiting]) == "1 waiting, 1 running"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0:00"), (61, "1:01"), (3_599, "59:59"), (3_600, "1 h 00 min"), (9e4, "25 h 00 min")],
)
def test_durations(seconds, words):
    assert progress_table.duration(seconds) == words


def test_without_a_terminal_each_change_is_said_once(tmp_path, sweep, capsys):
    before = [each._replace(phase=Phase.RUNNING, why="") for each in sweep[:3]]
    with progress_table.Display(tmp_path, "plan") as show:
        for statuses in ([*before, sweep[3]], [*before, sweep[3]], sweep, sweep):
            show(statuses)
    said = capsys.readouterr().err.splitlines()
    assert said == [
        "plan: 1 waiting, 3 running, about 0:11 left",
        "first: done, 1,000/1,000 steps, return 7.25",
        "third: --env: no [such] world, 0/1,000 steps",
        "plan: 1 waiting, 1 running, 1 done, 1 failed, about 0:20 left",
    ]
