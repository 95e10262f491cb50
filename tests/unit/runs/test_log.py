"""What a log brings with it."""

import subprocess
import sys
from pathlib import Path


def test_a_log_does_not_import_pytorch_where_it_is_installed(tmp_path: Path) -> None:
    (tmp_path / "torch.py").write_text("Tensor = object")
    program = """
import sys
from pathlib import Path
from surefoot.runs.log import Events

Events(Path(sys.argv[1])).close()
assert "tensorboardX" in sys.modules and "torch" not in sys.modules, sys.modules.keys()
import torch

assert torch.Tensor is object, "hidden for good"
"""
    command = [sys.executable, "-c", program, str(tmp_path / "events")]
    done = subprocess.run(command, capture_output=True, text=True, env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
