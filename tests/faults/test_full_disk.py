"""A disk that is full: a clear message, and the older checkpoints stay."""

import errno
import os
import resource
import warnings

import pytest

import surefoot
from surefoot.runs import checkpoint, directory
from surefoot.system import disk
from surefoot.system.disk import DiskError
from tests.faults.helpers import ARRAYS, PLAN


class SmallDisk:
    """No file may grow beyond so many bytes; a full disk refuses in the same way."""

    def __init__(self, limit):
        self.limit = limit

    def __enter__(self):
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, self.before[1]))

    def __exit__(self, *_):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)


@pytest.fixture(scope="module")
def sizes(model, tmp_path_factory):
    """How large the files of a run become."""
    out = tmp_path_factory.mktemp("whole") / "run"
    model.learn(30, out=out, **PLAN)
    return sorted(path.stat().st_size for path in out.rglob("*") if path.is_file())


def test_a_full_disk_stops_with_a_clear_message_and_leaves_the_older_checkpoints(
    model, sizes, tmp_path, amount, reached
):
    points = amount(20, 200)
    stopped = 0
    for point in range(points):
        limit = int(sizes[-1] * (point + 0.5) / points)
        model.save(tmp_path / "older", overwrite=True)
        before = {path.name: path.read_bytes() for path in (tmp_path / "older").iterdir()}
        out = tmp_path / f"run{point}"
        with (
            pytest.raises(DiskError, match=r"could not be written: File too large"),
            SmallDisk(limit),
        ):
            model.save(tmp_path / "older", overwrite=True)
        assert {path.name: path.read_bytes() for path in (tmp_path / "older").iterdir()} == before
        with pytest.raises(DiskError, match="could not be written: File too large"), SmallDisk(limit):
            model.learn(30, out=out, **PLAN)
        stopped += 1
        for path in (out / "checkpoints").glob("step_*") if out.exists() else ():
            checkpoint.verify(path, checkpoint.manifest_of(path))
        assert surefoot.load(tmp_path / "older").num_timesteps > 0
    reached("disk full, stop", f"{points} points", f"{stopped} clear messages, older checkpoints intact")


def test_a_full_disk_can_be_waited_for(model, sizes, tmp_path, amount, reached):
    """Small files fit, checkpoints do not: training goes on, and the log is complete."""
    points = amount(4, 40)
    for point in range(points):
        limit = int(sizes[-1] * (0.5 + 0.4 * point / points))
        out, first = tmp_path / f"run{point}", model.num_timesteps
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with SmallDisk(limit):
                model.learn(60, out=out, if_disk_full="continue", **PLAN)
        assert model.num_timesteps == first + 60
        assert any(
            "could not be written" in str(each.message) and "training continues" in str(each.message)
            for each in caught
        )
        steps = [line["step"] for line in directory.read_metrics(out)]
        assert steps == sorted(set(steps))
        assert len(steps) >= 3
    reached("disk full, continue", f"{points} points", "training goes on, log complete")


def test_too_little_space_is_noticed_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "free_bytes", lambda _: 5_000)
    monkeypatch.setattr(disk, "free_bytes", lambda _: 5_000)
    with pytest.raises(DiskError, match="needs 12,035 bytes, free are 5,000"):
        checkpoint.write(tmp_path / "here", 1, {"part": ARRAYS}, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", ["fsync", "rename", "write", "open"])
def test_a_failing_call_leaves_the_older_one(tmp_path, monkeypatch, call):
    checkpoint.write(tmp_path / "here", 1, {"part": ARRAYS}, {})
    real, count = getattr(os, call), 0

    def fails(*args, **options):
        nonlocal count
        count += 1
        if count == 2 - (call == "rename"):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*args, **options)

    monkeypatch.setattr(disk.os, call, fails)
    with pytest.raises(DiskError, match="No space left on device"):
        checkpoint.write(tmp_path / "here", 2, {"part": ARRAYS}, {})
    monkeypatch.undo()
    manifest = checkpoint.manifest_of(tmp_path / "here")
    assert manifest.step == 1
    checkpoint.verify(tmp_path / "here", manifest)
