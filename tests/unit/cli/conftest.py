"""Small runs of the command, in an empty directory."""

import sys

import pytest

from tests.small_models import FLAGS

CLIFF = ["train", "--env", "surefoot/WindyCliff-v0", "--steps", "200", *FLAGS]


@pytest.fixture
def in_empty_directory(tmp_path, monkeypatch):
    """An empty working directory; modules in it can be imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path
