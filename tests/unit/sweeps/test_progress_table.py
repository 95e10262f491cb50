"""The progress of a sweep: its table, its counts, and its lines without a terminal."""

import io
import json

import pytest
from rich.console import Console

from surefoot.runs.log_files import METRICS, TIMING
from surefoot.sweeps.plan import PlannedRun
from surefoot.sweeps.progress_table import (
    SweepDisplay,
    count_phases,
    format_duration,
    make_table,
    read_progress,
)
from surefoot.sweeps.runner import Phase, RunStatus, run_directory


def status(name, phase, steps=1_000, reason=""):
    return RunStatus(PlannedRun(name=name, steps=steps, settings={}), phase, reason)


def write_log(home, each, step, speed, episode_return):
    path = run_directory(home, each.run)
    path.mkdir(parents=True)
    (path / METRICS).write_text(json.dumps({"step": step, "rollout/ep_rew_mean": episode_return}) + "\n")
    (path / TIMING).write_text(json.dumps({"step": step, "time/fps": speed}) + "\n")


@pytest.fixture
def sweep(tmp_path):
    """Four runs, one in each phase."""
    found = [
        status("first", Phase.DONE),
        status("second", Phase.RUNNING),
        status("third", Phase.FAILED, reason="--env: no [such] environment"),
        status("fourth", Phase.WAITING),
    ]
    write_log(tmp_path, found[0], 1_000, 200.0, 7.25)
    write_log(tmp_path, found[1], 400, 50.0, -3.0)
    return found


def progress_of(sweep_dir, statuses):
    return [read_progress(sweep_dir, status) for status in statuses]


def rendered(shown):
    console = Console(width=100, file=io.StringIO())
    console.print(shown)
    return [line.strip() for line in console.file.getvalue().splitlines() if line.strip()]


def test_a_row_has_steps_speed_return_time_left_and_phase(tmp_path, sweep):
    head, _, *lines = rendered(make_table(progress_of(tmp_path, sweep)))
    assert head.split() == ["run", "steps", "steps/s", "return", "time", "left"]
    assert lines[0].split() == ["first", "1,000/1,000", "200", "7.25", "done"]
    assert lines[1].split() == ["second", "400/1,000", "50", "-3", "0:12", "running"]
    assert lines[2].split() == ["third", "0/1,000", "failed"]
    assert lines[3] == "--env: no [such] environment"
    assert lines[4].split() == ["fourth", "0/1,000", "waiting"]


def test_the_time_left_is_not_changed_by_a_run_that_still_compiles(tmp_path, sweep):
    fresh = status("fifth", Phase.RUNNING)
    write_log(tmp_path, fresh, 400, 0.01, 0.0)
    # 600 + 600 + 1,000 steps, two at a time, at the median of 1/200, 1/50 and 100 seconds each.
    counts = count_phases(progress_of(tmp_path, [*sweep, fresh]))
    assert counts.endswith("about 0:22 left")


def test_the_time_left_gives_waiting_runs_the_median_speed(tmp_path, sweep):
    # 600 + 1,000 steps, one at a time, at the median of 1/200 and 1/50 seconds each.
    counts = count_phases(progress_of(tmp_path, sweep))
    assert counts == "1 waiting, 1 running, 1 done, 1 failed, about 0:20 left"


def test_there_is_no_time_left_before_a_speed_is_known(tmp_path):
    waiting = [status("one", Phase.RUNNING), status("two", Phase.WAITING)]
    assert count_phases(progress_of(tmp_path, waiting)) == "1 waiting, 1 running"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0:00"), (61, "1:01"), (3_599, "59:59"), (3_600, "1 h 00 min"), (9e4, "25 h 00 min")],
)
def test_durations_are_minutes_and_seconds_or_hours(seconds, text):
    assert format_duration(seconds) == text


def test_without_a_terminal_each_change_is_one_line(tmp_path, sweep, capsys):
    before = [each._replace(phase=Phase.RUNNING, reason="") for each in sweep[:3]]
    with SweepDisplay(tmp_path, "plan") as show:
        for statuses in ([*before, sweep[3]], [*before, sweep[3]], sweep, sweep):
            show(statuses)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "plan: 1 waiting, 3 running, about 0:11 left",
        "first: done, 1,000/1,000 steps, return 7.25",
        "third: --env: no [such] environment, 0/1,000 steps",
        "plan: 1 waiting, 1 running, 1 done, 1 failed, about 0:20 left",
    ]
