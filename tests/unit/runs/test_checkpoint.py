"""Checkpoints: what was written comes back; what is damaged is refused by name."""

import hashlib
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot import replay as replays
from surefoot.runs import checkpoint, tensors
from surefoot.runs.checkpoint import ArraySpec, CheckpointError
from surefoot.types import Transition

ARRAYS = {
    "a": np.arange(6, dtype=np.float32).reshape(2, 3),
    "scalar": np.asarray(3, np.int32),
    "flags": np.array([True, False]),
    "empty": np.zeros((0, 4), np.uint8),
}
SHAPES = {name: ArraySpec(array.shape, array.dtype) for name, array in ARRAYS.items()}


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "here"
    checkpoint.write(path, 7, {"part": ARRAYS}, {"word": "x"})
    return path


def test_what_was_written_comes_back(saved):
    manifest = checkpoint.manifest_of(saved)
    assert (manifest.step, manifest.notes) == (7, {"word": "x"})
    checkpoint.verify(saved, manifest)
    found = checkpoint.read(saved, checkpoint.manifest_of(saved), "part", SHAPES)
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape


def test_nothing_temporary_is_left(saved):
    assert [path.name for path in saved.parent.iterdir()] == ["here"]
    assert {path.name for path in saved.iterdir()} == {"manifest.json", "part.safetensors"}


@pytest.mark.parametrize(
    ("expected", "says"),
    [
        ({**SHAPES, "b": ArraySpec((1,), np.dtype(int))}, "missing array b"),
        ({name: each for name, each in SHAPES.items() if name != "a"}, "unexpected array a"),
        (
            {**SHAPES, "a": ArraySpec((3, 2), np.dtype(np.float32))},
            r"a is \(2, 3\) float32, accepted: \(3, 2\)",
        ),
        ({**SHAPES, "a": ArraySpec((2, 3), np.dtype(np.float64))}, "accepted: .* float64"),
        ({**SHAPES, "a": ArraySpec((1, 3), np.dtype(np.float32), ragged=True)}, r"accepted: \(1, 3\)"),
    ],
)
def test_other_arrays_than_expected_are_refused(saved, expected, says):
    with pytest.raises(CheckpointError, match=says):
        checkpoint.read(saved, checkpoint.manifest_of(saved), "part", expected)


def test_a_first_axis_may_be_shorter_where_that_is_expected(saved):
    longer = {**SHAPES, "a": ArraySpec((5, 3), np.dtype(np.float32), ragged=True)}
    assert checkpoint.read(saved, checkpoint.manifest_of(saved), "part", longer)["a"].shape == (2, 3)


def test_a_changed_byte_is_noticed(saved):
    path = saved / "part.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"part.safetensors: damaged \(its SHA-256 differs"):
        checkpoint.verify(saved, checkpoint.manifest_of(saved))


def test_a_cut_or_missing_file_is_noticed(saved):
    path = saved / "part.safetensors"
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(CheckpointError, match=r"part.safetensors: \d+ bytes, the manifest says \d+"):
        checkpoint.verify(saved, checkpoint.manifest_of(saved))
    path.unlink()
    with pytest.raises(CheckpointError, match=r"part.safetensors: missing"):
        checkpoint.verify(saved, checkpoint.manifest_of(saved))


def change_manifest(saved, change):
    path = saved / "manifest.json"
    found = json.loads(path.read_text())
    change(found)
    data = bytearray(json.dumps({**found, "sha256": "0" * 64}).encode())
    data[checkpoint.DIGEST_SLICE] = hashlib.sha256(data).hexdigest().encode()
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda found: found.update(format=99), "format version 99, accepted: 1, 2, 3"),
        (lambda found: found.pop("format"), "format version None, accepted: 1, 2, 3"),
        (lambda found: found.pop("files"), "damaged"),
        (lambda found: found.update(files=3), "damaged"),
        (
            lambda found: found["files"].update({"../out": {"bytes": 1, "sha256": ""}}),
            "outside of its directory",
        ),
        (lambda found: found["files"].update({"/etc/passwd": {"bytes": 1, "sha256": ""}}), "outside"),
        (lambda found: found["files"].update({"x": {}}), "damaged"),
    ],
)
def test_a_manifest_is_not_trusted(saved, change, says):
    change_manifest(saved, change)
    with pytest.raises(CheckpointError, match=says):
        checkpoint.manifest_of(saved)


@pytest.mark.parametrize("text", ["", "{", "[]", "null"])
def test_a_manifest_that_is_none_is_refused(saved, text):
    (saved / "manifest.json").write_text(text)
    with pytest.raises(CheckpointError, match=r"manifest.json: "):
        checkpoint.manifest_of(saved)


def test_a_link_to_elsewhere_is_refused(saved):
    path = saved / "part.safetensors"
    elsewhere = saved.parent / "elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(CheckpointError, match="missing"):
        checkpoint.verify(saved, checkpoint.manifest_of(saved))


def test_trees_with_random_keys_come_back():
    tree = {"key": jax.random.key(3), "list": [jnp.ones(2), jnp.zeros((), jnp.int32)]}
    found = tensors.from_tensors(tree, tensors.to_tensors(tree))
    assert jax.tree.structure(found) == jax.tree.structure(tree)
    np.testing.assert_array_equal(jax.random.key_data(found["key"]), jax.random.key_data(tree["key"]))
    assert set(tensors.to_tensors(tree)) == {"key", "list.0", "list.1"} == set(tensors.specs_of(tree))


@pytest.mark.parametrize("added", [0, 3, 5, 9])
@pytest.mark.parametrize("dtype", [bool, np.uint8, np.float32])
def test_a_replay_comes_back_however_full_and_its_booleans_take_a_bit_each(added, dtype):
    obs = jnp.zeros((3, 4, 5), dtype)
    zero = jnp.zeros(())
    replay = replays.init(5, Transition(obs, zero.astype(jnp.int32), zero, zero.astype(bool), obs))
    rng = np.random.default_rng(added)
    for i in range(added):
        one, other = (jnp.asarray(rng.integers(0, 2, obs.shape).astype(dtype)) for _ in range(2))
        replay = replays.add(replay, Transition(one, jnp.int32(i), jnp.float32(i), jnp.asarray(True), other))
    stored = tensors.replay_to_tensors(replay)
    rows = min(added, 5)
    expected = (rows, 8) if dtype is bool else (rows, 3, 4, 5)
    assert stored["obs.bits" if dtype is bool else "obs"].shape == expected
    shapes = {name: ArraySpec(array.shape, array.dtype) for name, array in stored.items()}
    checkpoint.require_arrays("here", shapes, tensors.replay_specs(replay))
    found = tensors.replay_from_tensors(replay, stored)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(replay), strict=True):
        np.testing.assert_array_equal(a, b)
        assert a.dtype == b.dtype
