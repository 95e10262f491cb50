"""A machine that crashes at any point of a save: a checkpoint loads afterwards."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from surefoot.runs import checkpoint, directory
from surefoot.runs.checkpoint import CheckpointError
from tests.faults.helpers import ARRAYS


class Crashes:
    """Records what is asked of the disk, and rebuilds what it would hold after a crash at any point.

    The worst of disks: what was not waited for is lost, data and names alike. Another keeps names at once
    and loses only data.
    """

    def __init__(self, monkeypatch):
        self.log, self.handles = [], {}
        for name in ("open", "write", "fsync", "close", "rename", "mkdir", "unlink", "rmdir"):
            monkeypatch.setattr(os, name, self.recording(name, getattr(os, name)))

    def recording(self, name, real):
        def call(*args, **options):
            found = real(*args, **options)
            directory_handle = options.get("dir_fd")
            where = self.handles.get(directory_handle, "") if directory_handle is not None else ""
            if name == "open":
                path = str(Path(where, args[0]))
                self.handles[found] = path
                if args[1] & os.O_CREAT:
                    self.log.append(("create", path))
            elif name == "write":
                self.log.append(("write", self.handles.get(args[0]), bytes(args[1])[:found]))
            elif name == "fsync":
                self.log.append(("fsync", self.handles.get(args[0])))
            elif name == "rename":
                self.log.append(("rename", os.fspath(args[0]), os.fspath(args[1])))
            elif name in {"mkdir", "unlink", "rmdir"}:
                self.log.append((name, str(Path(where, args[0]))))
            return found

        return call

    def disk_after(self, count, *, names_at_once):
        """Files with their content, by path, and directories."""
        tree, durable, data, waited = {}, {}, {}, {}
        number = 0
        pending = []

        def apply(names, operation):
            kind, *what = operation
            if kind == "create":
                names.setdefault(what[0], what[1])
            elif kind == "mkdir":
                names.setdefault(what[0], None)
            elif kind in {"unlink", "rmdir"}:
                names.pop(what[0], None)
            elif kind == "rename":
                source, target = what
                for path in [each for each in names if each == source or each.startswith(source + "/")]:
                    names[target + path[len(source) :]] = names.pop(path)

        for operation in self.log[:count]:
            kind, path, *rest = operation
            if kind == "create":
                if path not in tree:
                    number += 1
                    operation = ("create", path, number)
                    apply(tree, operation)
                    pending.append(operation)
                data[tree[path]] = b""
            elif kind == "write":
                if path in tree:
                    data[tree[path]] = data.get(tree[path], b"") + rest[0]
            elif kind == "fsync":
                if path in tree and tree[path] is not None:
                    waited[tree[path]] = data[tree[path]]
                else:
                    # A directory: the names in it are safe now.
                    for each in [
                        each
                        for each in pending
                        if str(Path(each[2 if each[0] == "rename" else 1]).parent) == path
                    ]:
                        apply(durable, each)
                        pending.remove(each)
            else:
                apply(tree, operation)
                pending.append(operation)
        names = tree if names_at_once else durable
        return {path: None if inode is None else waited.get(inode, b"") for path, inode in names.items()}


def after_every_crash(tmp_path, monkeypatch, *, names_at_once):
    """The newest step that loads after a crash at each point of saving four checkpoints, two being kept."""
    home = tmp_path / "run"
    checkpoint.write(directory.checkpoint_path(home, "step", 1), 1, {"part": ARRAYS}, {})
    older = {str(path): path.read_bytes() if path.is_file() else None for path in sorted(home.rglob("*"))}
    with monkeypatch.context() as patched:
        crashes = Crashes(patched)
        for step in (2, 3, 4, 5):
            checkpoint.write(directory.checkpoint_path(home, "step", step), step, {"part": ARRAYS}, {})
            directory.delete_old(home, "step", 2)
    for count in range(len(crashes.log) + 1):
        rebuilt = tmp_path / f"after{count}"
        gone = [what[1] for what in crashes.log[:count] if what[0] in {"rename", "unlink", "rmdir"}]
        kept = {
            path: data
            for path, data in older.items()
            if not any(path == each or path.startswith(each + "/") for each in gone)
        }
        after = crashes.disk_after(count, names_at_once=names_at_once)
        for path, data in sorted({**kept, **after}.items()):
            target = rebuilt / Path(path).relative_to(home)
            if data is None:
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        found = directory.newest_checkpoint(rebuilt)
        assert found.path is not None
        np.testing.assert_array_equal(
            checkpoint.read(found.path, found.manifest, "part", None)["a"], ARRAYS["a"]
        )
        yield found.manifest.step
        shutil.rmtree(rebuilt)


@pytest.mark.parametrize("names_at_once", [True, False])
def test_a_crash_at_any_point_leaves_a_checkpoint_that_loads(tmp_path, monkeypatch, reached, names_at_once):
    steps = list(after_every_crash(tmp_path, monkeypatch, names_at_once=names_at_once))
    assert len(steps) > 40
    assert steps == sorted(steps)
    assert (steps[0], steps[-1]) == (1, 5)
    lost = "data" if names_at_once else "data and names"
    reached(
        "crash without fsync", f"{len(steps)} prefixes, unsynced {lost} lost", "a checkpoint loads from each"
    )


def write_carelessly(path, data):
    handle = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.write(handle, data)
    os.close(handle)


@pytest.mark.parametrize(
    ("careful", "careless", "names_at_once"),
    [
        ("write_durably", write_carelessly, True),
        ("rename_durably", lambda source, target: os.rename(source, target), False),  # noqa: PTH104
        ("sync_directory", lambda _: None, False),
    ],
)
def test_a_save_that_did_not_wait_for_the_disk_would_be_found_out(
    tmp_path, monkeypatch, careful, careless, names_at_once
):
    monkeypatch.setattr(checkpoint, careful, careless)
    with pytest.raises((CheckpointError, AssertionError)):
        list(after_every_crash(tmp_path, monkeypatch, names_at_once=names_at_once))
