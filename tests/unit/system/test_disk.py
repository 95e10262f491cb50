"""Messages about files that cannot be written, and the functions that write them."""

import errno
import os
from pathlib import Path

import pytest

from surefoot.system import disk
from surefoot.system.disk import AppendedFile, DiskError, disk_error, free_bytes, replace_file

HERE = Path("/some/run")


@pytest.fixture
def nearly_full(monkeypatch):
    monkeypatch.setattr(disk, "free_bytes", lambda _: 1_000)


def os_error(number):
    return OSError(number, os.strerror(number))


@pytest.mark.usefixtures("nearly_full")
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_or_quota_is_reported_with_the_bytes_needed_and_free(number):
    text = str(disk_error("checkpoint x", 65_536, HERE, os_error(number)))
    assert text == f"checkpoint x: needs 65,536 bytes, free are 1,000 ({os.strerror(number)})"


@pytest.mark.usefixtures("nearly_full")
def test_too_few_free_bytes_are_reported_before_any_call_fails():
    assert str(disk_error("x", 65_536, HERE, None)) == "x: needs 65,536 bytes, free are 1,000"


@pytest.mark.usefixtures("nearly_full")
@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.EROFS, errno.EFBIG, errno.EISDIR])
def test_another_cause_is_reported_without_the_free_bytes(number):
    text = str(disk_error("log", 65_536, HERE, os_error(number)))
    assert text == f"log: could not be written: {os.strerror(number)}"


@pytest.mark.usefixtures("nearly_full")
def test_an_error_of_a_full_disk_with_enough_free_bytes_is_reported_without_them():
    """A quota or the number of files can be exhausted while bytes are free."""
    text = str(disk_error("log", 1_000, HERE, os_error(errno.ENOSPC)))
    assert text == "log: could not be written: No space left on device"


def test_a_directory_in_the_way_of_a_file_is_not_reported_as_a_full_disk(tmp_path):
    (tmp_path / "data.csv").mkdir()
    with pytest.raises(DiskError, match=r"data\.csv: could not be written: Is a directory$"):
        replace_file(tmp_path / "data.csv", b"1,2")
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_replacing_a_file_leaves_no_other_file(tmp_path):
    for content in (b"old", b"new"):
        replace_file(tmp_path / "data.csv", content)
        assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"data.csv": content}


def test_data_that_the_disk_refused_is_written_by_the_next_flush(tmp_path, monkeypatch):
    file = AppendedFile(tmp_path / "log")
    file.add("one\n")
    with monkeypatch.context() as patched:

        def refuse(*_):
            raise os_error(errno.ENOSPC)

        patched.setattr(disk.os, "write", refuse)
        with pytest.raises(OSError, match="No space left"):
            file.flush()
    file.add(b"two\n")
    assert file.sync() == 8
    file.close()
    assert (tmp_path / "log").read_text() == "one\ntwo\n"


def test_free_bytes_are_known_for_a_directory_that_does_not_exist_yet(tmp_path):
    assert free_bytes(tmp_path / "not" / "yet") > 0
