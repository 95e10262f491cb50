"""A disk that is full, a machine that crashes, files that are damaged: the older checkpoints are there."""

import errno
import os
import random
import resource
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import surefoot
from surefoot.runs import checkpoint, directory
from surefoot.system import disk
from surefoot.runs.checkpoint import CheckpointError
from surefoot.system.disk import DiskError
from surefoot.errors import UserError

sys.path.insert(0, str(Path(__file__).parent))
from helpers import CLIFF, PLAN, QUICK

ARRAYS = {"a": np.arange(3_000, dtype=np.float32), "b": np.ones((7, 5), bool)}


@pytest.fixture(scope="module")
def model():
    return surefoot.UADQN(CLIFF, seed=3, **QUICK).learn(40, progress=False)


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
            pytest.raises(DiskError, match=r"needs [\d,]+ bytes, free are [\d,]+ \(File too large\)"),
            SmallDisk(limit),
        ):
            model.save(tmp_path / "older", overwrite=True)
        assert {path.name: path.read_bytes() for path in (tmp_path / "older").iterdir()} == before
        with pytest.raises(DiskError, match=r"needs [\d,]+ bytes, free are [\d,]+"), SmallDisk(limit):
            model.learn(30, out=out, **PLAN)
        stopped += 1
        for path in (out / "checkpoints").glob("step_*") if out.exists() else ():
            checkpoint.verify(path, checkpoint.manifest_of(path))
        assert surefoot.load(tmp_path / "older").num_timesteps > 0
    reached("disk full, stop", f"{points} points", f"{stopped} clear messages, older checkpoints intact")


def test_a_full_disk_can_be_waited_for(model, sizes, tmp_path, amount, reached):
    """Small files fit, checkpoints do not: training goes on, and the log is whole."""
    points = amount(4, 40)
    for point in range(points):
        limit = int(sizes[-1] * (0.5 + 0.4 * point / points))
        out, first = tmp_path / f"run{point}", model.num_timesteps
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with SmallDisk(limit):
                model.learn(60, out=out, if_disk_full="continue", **PLAN)
        assert model.num_timesteps == first + 60
        assert any("needs" in str(each.message) and "training goes on" in str(each.message) for each in told)
        steps = [line["step"] for line in directory.read_metrics(out)]
        assert steps == sorted(set(steps))
        assert len(steps) >= 3
    reached("disk full, continue", f"{points} points", "training goes on, log whole")


def test_too_little_room_is_noticed_before_anything_is_written(tmp_path, monkeypatch):
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


@pytest.fixture
def three(tmp_path):
    """A run with three checkpoints."""
    for step in (1, 2, 3):
        path = directory.checkpoint_path(tmp_path / "run", "step", step)
        checkpoint.write(
            path, step, {"part": {**ARRAYS, "step": np.asarray(step)}, "other": ARRAYS}, {"n": step}
        )
    return tmp_path / "run"


def assert_falls_back(run, path):
    found = directory.newest_checkpoint(run)
    assert found.manifest.step == 2
    assert len(found.bad) == 1
    (says,) = found.bad.values()
    assert path.parent.name in says
    assert path.name in says


def test_damage_is_always_noticed_and_an_older_checkpoint_used(three, amount, reached):
    newest = directory.last_checkpoint(three)
    files = sorted(newest.iterdir())
    cuts = flips = missing = 0
    for path in files:
        whole = path.read_bytes()
        for percent in range(0, 100, 5):
            path.write_bytes(whole[: len(whole) * percent // 100])
            assert_falls_back(three, path)
            cuts += 1
        path.unlink()
        assert_falls_back(three, path)
        missing += 1
        path.write_bytes(whole)
    chance = random.Random(0)
    for _ in range(amount(200, 5_000)):
        path = chance.choice(files)
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        assert_falls_back(three, path)
        path.write_bytes(whole)
        flips += 1
    assert directory.newest_checkpoint(three).manifest.step == 3
    reached(
        "corruption",
        f"{cuts} cuts, {flips} bit flips, {missing} missing files",
        "all noticed, older one used, file named",
    )


def test_where_none_is_whole_the_error_names_them_all(three):
    for path in (three / "checkpoints").iterdir():
        (path / "part.safetensors").write_bytes(b"")
    with pytest.raises(
        CheckpointError, match=r"no usable checkpoint: .*step_000000003.*step_000000002.*step_000000001"
    ) as e:
        directory.newest_checkpoint(three)
    assert "\n" not in str(e.value)


def test_a_damaged_checkpoint_is_told_of_when_a_run_is_gone_on_with(model, tmp_path):
    model.learn(60, out=tmp_path / "run", **PLAN)
    newest = directory.last_checkpoint(tmp_path / "run")
    (newest / "replay.safetensors").write_bytes(b"nonsense")
    with pytest.warns(
        UserWarning, match=f"{newest.name}/replay.safetensors: .*; an older checkpoint is used"
    ):
        again = surefoot.resume(tmp_path / "run", progress=False)
    assert again.num_timesteps == model.num_timesteps


def test_damaged_checkpoints_do_not_push_out_good_ones(model, tmp_path):
    model.learn(60, out=tmp_path / "run", **PLAN)
    first = directory.last_checkpoint(tmp_path / "run")
    for step in (777_777, 888_888, 999_999):
        shutil.copytree(first, directory.checkpoint_path(tmp_path / "run", "step", step))
        (directory.checkpoint_path(tmp_path / "run", "step", step) / "run.safetensors").write_bytes(b"x")
    with pytest.warns(UserWarning, match="an older checkpoint is used"):
        surefoot.resume(tmp_path / "run", model.num_timesteps + 40, progress=False)
    good = directory.newest_checkpoint(tmp_path / "run")
    assert not good.bad
    assert good.manifest.step == model.num_timesteps + 40


@pytest.mark.parametrize(
    "change",
    [
        lambda notes: notes.pop("tally"),
        lambda notes: notes.update(tally=None),
        lambda notes: notes.update(settled="x"),
        lambda notes: notes.update(playing={"a": 1}),
        lambda notes: notes["model"].update(seed="x"),
        lambda notes: notes["model"].update(action_space=notes["model"]["observation_space"]),
        lambda notes: notes["model"]["settings"].update(replay_capacity=500.5),
        lambda notes: notes["model"]["settings"].update(replay_capacity=10**15),
        lambda notes: notes["model"]["settings"].update(nonsense=1),
        lambda notes: notes["model"]["action_space"].update(n=0),
        lambda notes: notes["model"]["observation_space"].update(shape=[10**13]),
        lambda notes: notes["model"]["observation_space"].update(shape=[-3]),
        lambda notes: notes["model"]["observation_space"].update(dtype="object"),
        lambda notes: notes["model"]["observation_space"].update(kind="Box2"),
        lambda notes: notes["model"]["observation_space"].update(low="x"),
        lambda notes: notes["model"].update(network="mlp:16"),
        lambda notes: notes["model"].pop("agent"),
    ],
)
def test_a_forged_manifest_is_one_clear_line(model, tmp_path, change):
    """With digests that fit: whoever can write a checkpoint can make those."""
    model.save(tmp_path / "model")
    manifest = checkpoint.manifest_of(tmp_path / "model")
    change(manifest.notes)
    forged = checkpoint._manifest_bytes(manifest.step, manifest.files, manifest.notes)
    (tmp_path / "model" / "manifest.json").write_bytes(forged)
    with pytest.raises(UserError) as error:
        surefoot.load(tmp_path / "model")
    assert "\n" not in str(error.value)


def test_a_file_that_the_manifest_does_not_name_is_not_read(model, tmp_path):
    model.save(tmp_path / "model")
    manifest = checkpoint.manifest_of(tmp_path / "model")
    forged = checkpoint._manifest_bytes(manifest.step, {}, manifest.notes)
    (tmp_path / "model" / "manifest.json").write_bytes(forged)
    with pytest.raises(UserError, match=r"learner.safetensors: not named in the manifest"):
        surefoot.load(tmp_path / "model")
