"""Small runs of the command, in an empty directory."""

import sys

import pytest

QUICK = ["--network", "mlp:8", "--batch-size", "4", "--learning-starts", "50", "--replay-capacity", "500"]
CLIFF = ["train", "--env", "surefoot/WindyCliff-v0", "--steps", "200", *QUICK]


@pytest.fixture
def in_empty_directory(tmp_path, monkeypatch):
    """An empty working directory; modules in it can be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path
