"""The check of `make check` for unsafe calls finds all of them and nothing else."""

import importlib.util
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "unsafe_calls.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("unsafe_calls", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import os, pickle as p",
        "from pickle import loads",
        "import cloudpickle",
        "def f():\n    from dill import load",
        "eval('1')",
        "exec('1')",
        "import builtins\nbuiltins.eval('1')",
        "import yaml\nyaml.load(f)",
        "import yaml\nread = yaml.unsafe_load",
        "import yaml as y\ny.load(f)",
        "from yaml import load",
        "import numpy as np\nnp.load(f, allow_pickle=True)",
    ],
)
def test_unsafe_code_is_found(tool, source):
    assert list(tool.unsafe_calls(source))


@pytest.mark.parametrize(
    "source",
    [
        "# eval(pickle)",
        "'exec(1)'",
        "model.eval()",
        "import yaml\nyaml.safe_load(f)",
        "np.load(f, allow_pickle=False)",
        "from surefoot import estimators",
    ],
)
def test_safe_code_passes(tool, source):
    assert not list(tool.unsafe_calls(source))


def test_the_tool_prints_file_and_line_and_fails(tool, tmp_path, capsys):
    (tmp_path / "bad.py").write_text("x = 1\neval('x')\n")
    assert tool.main([str(tmp_path)]) == 1
    assert "bad.py:2: uses builtins.eval" in capsys.readouterr().out
