"""Damaged and forged checkpoints: always noticed, and an older one is used."""

import random
import shutil

import numpy as np
import pytest

import surefoot
from surefoot.errors import UserError
from surefoot.runs import checkpoint, directory
from surefoot.runs.checkpoint import CheckpointError
from tests.faults.helpers import ARRAYS, PLAN


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
    assert len(found.damaged) == 1
    (says,) = found.damaged.values()
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
    rng = random.Random(0)
    for _ in range(amount(200, 5_000)):
        path = rng.choice(files)
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
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


def test_if_all_are_damaged_the_error_names_them_all(three):
    for path in (three / "checkpoints").iterdir():
        (path / "part.safetensors").write_bytes(b"")
    with pytest.raises(
        CheckpointError, match=r"no usable checkpoint: .*step_000000003.*step_000000002.*step_000000001"
    ) as e:
        directory.newest_checkpoint(three)
    assert "\n" not in str(e.value)


def test_a_damaged_checkpoint_is_reported_when_a_run_is_resumed(model, tmp_path):
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
        (directory.checkpoint_path(tmp_path / "run", "step", step) / "train.safetensors").write_bytes(b"x")
    with pytest.warns(UserWarning, match="an older checkpoint is used"):
        surefoot.resume(tmp_path / "run", model.num_timesteps + 40, progress=False)
    good = directory.newest_checkpoint(tmp_path / "run")
    assert not good.damaged
    assert good.manifest.step == model.num_timesteps + 40


@pytest.mark.parametrize(
    "change",
    [
        lambda notes: notes.pop("metrics"),
        lambda notes: notes.update(metrics=None),
        lambda notes: notes.update(settled="x"),
        lambda notes: notes.update(episode={"a": 1}),
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
