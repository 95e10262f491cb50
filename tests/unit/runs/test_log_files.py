"""What a log brings with it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from surefoot.runs.log_files import TIMING, seconds_until


def test_a_log_does_not_import_pytorch_where_it_is_installed(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("Tensor = object")
    program = """
import sys
from pathlib import Path
from surefoot.runs.tensorboard import EventFile

Events(Path(sys.argv[1])).close()
assert "tensorboardX" in sys.modules and "torch" not in sys.modules, sys.modules.keys()
import torch

assert torch.Tensor is object, "hidden for good"
"""
    command = [sys.executable, "-c", program, str(tmp_path / "events")]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr


def test_the_time_of_a_run_is_that_of_all_its_sittings(tmp_path: Path) -> None:
    # From the start: 10 steps a second. Gone on with at step 100, then at step 150: 5 steps a second.
    sittings = [(0, 10.0, (50, 100)), (100, 5.0, (150,)), (150, 5.0, (200, 250))]
    lines = [
        {"step": step, "time/fps": speed, "time/elapsed": (step - start) / speed}
        for start, speed, steps in sittings
        for step in steps
    ]
    (tmp_path / TIMING).write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert seconds_until(tmp_path, 250) == pytest.approx(10 + 10 + 20)
    assert seconds_until(tmp_path, 200) == pytest.approx(10 + 10 + 10)
    assert seconds_until(tmp_path, 60) == pytest.approx(5)
    assert seconds_until(tmp_path / "nowhere", 60) == 0
