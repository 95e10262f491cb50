"""Cores are reserved evenly among all processes of a user, and a process is pinned to one."""

import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import ExitStack

import pytest

from surefoot.errors import UserError
from surefoot.system import cores

ANOTHER_PROCESS = """
from surefoot.system import cores
with cores.reserve_core() as core:
    print(core, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def four_free_cores(tmp_path, monkeypatch):
    """Four cores, and a directory of locks that no other process of this user uses."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(cores, "available_cores", lambda: [3, 4, 5, 6])
    yield
    tempfile.tempdir = None


def test_no_core_is_reserved_twice_before_all_are_reserved_once():
    with ExitStack() as stack:
        reserved = [stack.enter_context(cores.reserve_core()) for _ in range(10)]
        assert set(reserved[:4]) == {3, 4, 5, 6}
        assert sorted(Counter(reserved).values()) == [2, 2, 3, 3]
    with cores.reserve_core() as core:
        assert core == reserved[0]


def test_a_core_that_another_process_reserved_is_free_again_after_that_is_killed():
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


def test_where_no_lock_can_be_made_any_core_is_chosen(tmp_path):
    (tmp_path / f"surefoot-cores-{cores.os.getuid()}").write_text("not a directory")
    with cores.reserve_core() as core:
        assert core in {3, 4, 5, 6}


def test_a_core_that_does_not_exist_is_refused_by_its_field():
    with pytest.raises(UserError, match=r"^core: got 99999, accepted: 3, 4, 5, 6$"):
        cores.pin_to(99_999)
