"""Log files: the time that a run took over several processes."""

import json
from pathlib import Path

import pytest

from surefoot.runs.log_files import CPU, TIMING, seconds_until


def test_the_time_of_a_run_is_that_of_all_its_processes(tmp_path: Path) -> None:
    # From the start 10 steps a second; resumed at step 100 and at step 150, 5 steps a second.
    processes = [(0, 10.0, (50, 100)), (100, 5.0, (150,)), (150, 5.0, (200, 250))]
    lines = [
        {"step": step, "time/fps": speed, "time/elapsed": (step - start) / speed, "time/cpu": 1.5}
        for start, speed, steps in processes
        for step in steps
    ]
    (tmp_path / TIMING).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert seconds_until(tmp_path, 250) == pytest.approx(10 + 10 + 20)
    assert seconds_until(tmp_path, 200) == pytest.approx(10 + 10 + 10)
    assert seconds_until(tmp_path, 60) == pytest.approx(5)
    assert seconds_until(tmp_path, 250, CPU) == 3 * 1.5
    assert seconds_until(tmp_path / "nowhere", 60) == 0
