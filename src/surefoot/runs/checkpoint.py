"""Checkpoints: a directory of safetensors files and a manifest with their sizes and digests.

A checkpoint is written under a temporary name, flushed to the disk and then renamed, so that under its own
name it is either complete or not there. Reading trusts nothing: sizes, digests, names, shapes and dtypes are
compared before arrays are made.
"""

import hashlib
import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from surefoot.errors import UserError
from surefoot.runs import checkpoint_format_1, checkpoint_format_2
from surefoot.system.disk import (
    disk_error,
    free_bytes,
    remove_directory,
    rename_durably,
    replace_file,
    sync_directory,
    write_durably,
)

FORMAT = 3
READABLE_FORMATS = (1, 2, 3)
MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 64 * 2**20

Tensors = Mapping[str, NDArray[Any]]


class CheckpointError(UserError):
    """A checkpoint that cannot be used; the text names the file and what is wrong with it."""


class Manifest(NamedTuple):
    """A checkpoint's own description."""

    step: int
    notes: dict[str, Any]
    files: dict[str, dict[str, Any]]
    format: int = FORMAT

    def file_of(self, part: str) -> str:
        """The name of the file that holds a part."""
        return f"{checkpoint_format_1.part_name(part) if self.format == 1 else part}.safetensors"

    def has(self, part: str) -> bool:
        """Whether the checkpoint holds a part."""
        return self.file_of(part) in self.files


class ArraySpec(NamedTuple):
    """The shape and dtype that an array must have; if `ragged`, its first axis may be shorter."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    ragged: bool = False


def write(directory: Path, step: int, parts: Mapping[str, Tensors], notes: Mapping[str, Any]) -> None:
    """Write a checkpoint under this name; an older one of this name is deleted once the new is complete."""
    temporary = directory.parent / f".{directory.name}.new"
    needed = sum(array.nbytes for tensors in parts.values() for array in tensors.values())
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        if needed > free_bytes(directory.parent):
            raise disk_error(f"checkpoint {directory}", needed, directory.parent, None)
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        files: dict[str, dict[str, Any]] = {}
        for part, tensors in parts.items():
            data = save({name: np.asarray(array, order="C") for name, array in tensors.items()})
            files[f"{part}.safetensors"] = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            write_durably(temporary / f"{part}.safetensors", data)
        write_durably(temporary / MANIFEST, _manifest_bytes(step, files, notes))
        sync_directory(temporary)
        if directory.exists():
            remove_directory(directory)
        rename_durably(temporary, directory)
    except OSError as error:
        shutil.rmtree(temporary, ignore_errors=True)
        raise disk_error(f"checkpoint {directory}", needed, directory.parent, error) from error


def recover(directory: Path) -> None:
    """Finish a `write` that was killed: rename a complete checkpoint that still has its temporary name."""
    temporary = directory.parent / f".{directory.name}.new"
    if directory.exists() or not (temporary / MANIFEST).exists():
        return
    try:
        verify(temporary, manifest_of(temporary))
    except CheckpointError:
        return
    rename_durably(temporary, directory)


DIGEST_SLICE = slice(len(b'{"sha256": "'), len(b'{"sha256": "') + 64)
"""Where a manifest has its own digest, which is computed with zeros in this slice."""
BLANK_DIGEST = {"sha256": "0" * 64}


def annotate(directory: Path, name: str, note: Any) -> None:
    """Add a note to a complete checkpoint, or replace it: all of it or nothing."""
    manifest_of(directory)  # Refuses one that is damaged.
    path = directory / MANIFEST
    fields = json.loads(path.read_bytes())
    fields["notes"][name] = note
    try:
        replace_file(path, _with_digest(fields))
    except OSError as error:
        raise disk_error(f"checkpoint {directory}", MAX_MANIFEST_BYTES, directory, error) from error


def _manifest_bytes(step: int, files: Mapping[str, Any], notes: Mapping[str, Any]) -> bytes:
    return _with_digest({"format": FORMAT, "step": step, "files": files, "notes": notes})


def _with_digest(fields: Mapping[str, Any]) -> bytes:
    data = bytearray(json.dumps({**BLANK_DIGEST, **fields, **BLANK_DIGEST}).encode())
    data[DIGEST_SLICE] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def _is_undamaged(data: bytes) -> bool:
    blank = bytearray(data)
    blank[DIGEST_SLICE] = b"0" * 64
    return data[DIGEST_SLICE] == hashlib.sha256(blank).hexdigest().encode()


def manifest_of(directory: Path) -> Manifest:
    """A checkpoint's manifest, if it is one that this version reads."""
    path = directory / MANIFEST
    try:
        if path.stat().st_size > MAX_MANIFEST_BYTES:
            raise CheckpointError(f"{path}: larger than {MAX_MANIFEST_BYTES:,} bytes, no manifest")
        data = path.read_bytes()
        found = json.loads(data)
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: not readable ({type(error).__name__})") from error
    version = found.get("format") if isinstance(found, dict) else None
    if version not in READABLE_FORMATS:
        accepted = ", ".join(map(str, READABLE_FORMATS))
        raise CheckpointError(f"{path}: format version {version}, accepted: {accepted}")
    if not _is_undamaged(data):
        raise CheckpointError(f"{path}: damaged (its SHA-256 differs from its own)")
    try:
        files = {str(name): dict(each) for name, each in found["files"].items()}
        step, notes = int(found["step"]), dict(found["notes"])
        if version == 1:
            notes = checkpoint_format_1.notes(notes)
        for name, each in files.items():
            if Path(name).name != name or name.startswith("."):
                raise CheckpointError(f"{path}: names a file {name!r} outside of its directory")
            each["bytes"], each["sha256"] = int(each["bytes"]), str(each["sha256"])
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(f"{path}: damaged ({type(error).__name__}: {error})") from error
    return Manifest(step, notes, files, version)


def verify(directory: Path, manifest: Manifest) -> None:
    """Compare every file with the manifest's size and digest."""
    for name, said in manifest.files.items():
        path = directory / name
        if path.is_symlink() or not path.is_file():
            raise CheckpointError(f"{path}: missing")
        size = path.stat().st_size
        if size != said["bytes"]:
            raise CheckpointError(f"{path}: {size} bytes, the manifest says {said['bytes']}")
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != said["sha256"]:
            raise CheckpointError(f"{path}: damaged (its SHA-256 differs from the manifest's)")


def read(
    directory: Path, manifest: Manifest, part: str, expected: Mapping[str, ArraySpec] | None
) -> dict[str, NDArray[Any]]:
    """The arrays of one part. They must be exactly those expected; None accepts whatever is there.

    Only what the manifest names, and so was verified, is read.
    """
    path = directory / manifest.file_of(part)
    if not manifest.has(part):
        raise CheckpointError(f"{path}: not named in the manifest")
    try:
        with safe_open(path, framework="numpy") as file:
            found = {name: _spec_of(file.get_slice(name)) for name in file.keys()}  # noqa: SIM118
            names = _stored_names(manifest.format, expected or {}, found)
            if expected is not None:
                require_arrays(str(path), found, _stored_specs(manifest.format, expected, names))
            arrays = {name: cast("NDArray[Any]", file.get_tensor(name)) for name in found}
    except (OSError, SafetensorError, KeyError) as error:
        raise CheckpointError(f"{path}: not readable ({type(error).__name__})") from error
    if expected is None or manifest.format == FORMAT:
        return arrays
    return {
        name: checkpoint_format_1.converted(name, checkpoint_format_2.joined([arrays[p] for p in parts]))
        for name, parts in names.items()
    }


def _stored_names(
    version: int, expected: Mapping[str, ArraySpec], found: Collection[str]
) -> dict[str, list[str]]:
    """For each array of today the names of those that a format has in its place."""
    if version == FORMAT:
        return {name: [name] for name in expected}
    rename = checkpoint_format_1.tensor_name if version == 1 else str
    return {name: list(map(rename, checkpoint_format_2.parts_of(name, found))) for name in expected}


def _stored_specs(
    version: int, expected: Mapping[str, ArraySpec], names: Mapping[str, list[str]]
) -> dict[str, ArraySpec]:
    """What the arrays that a format has must be."""
    specs: dict[str, ArraySpec] = {}
    for name, spec in expected.items():
        shape = checkpoint_format_2.part_shape(spec.shape, len(names[name]))
        dtype = checkpoint_format_1.dtype_of(name, spec.dtype) if version == 1 else spec.dtype
        specs |= dict.fromkeys(names[name], ArraySpec(shape, dtype, spec.ragged))
    return specs


def require_arrays(where: str, found: Mapping[str, ArraySpec], expected: Mapping[str, ArraySpec]) -> None:
    """Refuse arrays whose names, shapes or dtypes are not as expected."""
    for name in sorted(set(found) ^ set(expected)):
        raise CheckpointError(f"{where}: {'unexpected' if name in found else 'missing'} array {name}")
    for name, wanted in expected.items():
        shape, dtype, _ = found[name]
        free = int(wanted.ragged)
        fits = len(shape) == len(wanted.shape) and shape[free:] == wanted.shape[free:]
        if not fits or shape[:free] > wanted.shape[:free] or dtype != wanted.dtype:
            got, accepted = f"{shape} {dtype}", f"{wanted.shape} {wanted.dtype}"
            raise CheckpointError(f"{where}: {name} is {got}, accepted: {accepted}")


DTYPES = {
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "U16": "uint16",
    "I16": "int16",
    "F16": "float16",
    "U32": "uint32",
    "I32": "int32",
    "F32": "float32",
    "U64": "uint64",
    "I64": "int64",
    "F64": "float64",
}


def _spec_of(found: Any) -> ArraySpec:
    return ArraySpec(tuple(found.get_shape()), np.dtype(DTYPES[found.get_dtype()]))
