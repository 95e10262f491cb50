"""Cores are shared out evenly, among all processes of a user."""

import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack

import pytest

from surefoot.system import cores

ANOTHER_PROCESS = """
from surefoot.system import cores
with cores.reserve_core() as core:
    print(core, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def nobody_else(tmp_path, monkeypatch):
    """A directory for locks that no other sweep of this user's knows, and four cores."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(cores, "available_cores", lambda: [3, 4, 5, 6])
    yield
    tempfile.tempdir = None


def test_each_has_its_own_then_all_have_as_many():
    with ExitStack() as stack:
        held = [stack.enter_context(cores.reserve_core()) for _ in range(10)]
        assert set(held[:4]) == {3, 4, 5, 6}
        assert sorted(Counter(held).values()) == [2, 2, 3, 3]
    with cores.reserve_core() as core:
        assert core == held[0]


def test_a_core_of_another_process_is_left_to_it_until_that_is_killed():
    code = ANOTHER_PROCESS.replace("with", "cores.available_cores = lambda: [3, 4]\nwith", 1)
    other = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert int(other.stdout.readline()) == 3
    with cores.reserve_core() as core:
        assert core == 4
    other.kill()
    other.communicate()
    with cores.reserve_core() as core:
        assert core == 3


def test_where_no_lock_can_be_made_any_core_does(tmp_path):
    (tmp_path / f"surefoot-cores-{cores.os.getuid()}").write_text("not a directory")
    with cores.reserve_core() as core:
        assert core in {3, 4, 5, 6}
