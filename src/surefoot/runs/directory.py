"""The directory of a run: made once, held by one writer at a time, read by anyone."""

import json
import os
import shutil
import socket
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from surefoot.runs import checkpoint
from surefoot.runs.checkpoint import CheckpointError, Manifest
from surefoot.runs.disk import remove_directory, replace_file
from surefoot.runs.locks import lock_at
from surefoot.runs.log import EPISODES, METRICS, read_episodes, read_metrics
from surefoot.runs.tally import RECENT
from surefoot.types import UserError

CONFIG, LOCK, HOLDER, CHECKPOINTS = "config.json", "run.lock", "run.holder", "checkpoints"


def new_directory(home: Path, name: str) -> Path:
    """The first free one of `name`, `name-2`, ...; of two runs that start at once, each gets its own."""
    for number in count(1):
        directory = home / (name if number == 1 else f"{name}-{number}")
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"--out: could not make {directory} ({error.strerror}); name another") from error
        return directory
    raise AssertionError("numbers do not end")


def create(directory: Path, config: Mapping[str, Any]) -> FileLock:
    """Make a run's directory and begin it with its configuration; the lock is the caller's to release."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not (directory / LOCK).exists():
            _require_empty(directory)  # Nothing of ours goes into what is someone else's.
        lock = hold(directory)
    except OSError as error:
        raise UserError(
            f"--out: got {directory}, accepted: a directory to write to ({error.strerror})"
        ) from error
    try:
        _require_empty(directory)
        write_config(directory, config)
    except BaseException:
        lock.release()
        raise
    return lock


def _require_empty(directory: Path) -> None:
    held = sorted({path.name for path in directory.iterdir()} - {LOCK, HOLDER, f".{CONFIG}.tmp"})
    if held:
        raise UserError(
            f"--out: {directory} already holds {', '.join(held[:3])}, accepted: a new or an empty directory "
            "(a run is gone on with by --resume)"
        )


def write_config(directory: Path, config: Mapping[str, Any]) -> None:
    """Write a run's configuration, all of it or nothing."""
    replace_file(directory / CONFIG, (json.dumps(config, indent=2) + "\n").encode())


def hold(directory: Path) -> FileLock:
    """Become the one writer of a run's directory; the operating system frees it if this process dies."""
    lock = lock_at(directory / LOCK)
    try:
        lock.acquire()
    except Timeout:
        raise UserError(
            f"{directory}: in use by {_holder(directory)}, accepted: one writer at a time"
        ) from None
    except OSError as error:
        words = (
            f"no lock there ({error.strerror}), accepted: a directory to write to, on a disk that knows locks"
        )
        raise UserError(f"{directory}: {words}") from error
    with suppress(OSError):  # A courtesy, even where the disk is full.
        (directory / HOLDER).write_text(f"process {os.getpid()} on {socket.gethostname()}")
    return lock


def is_held(directory: Path) -> bool:
    """Whether someone writes to a run's directory now."""
    if not (directory / LOCK).exists():
        return False
    try:
        with lock_at(directory / LOCK):
            return False
    except Timeout:
        return True


def _holder(directory: Path) -> str:
    try:
        return (directory / HOLDER).read_text() or "another process"
    except OSError:
        return "another process"


def read_config(directory: Path) -> dict[str, Any]:
    """A run's configuration."""
    path = directory / CONFIG
    if not path.is_file():
        raise UserError(f"{directory}: no run here (no {CONFIG}), accepted: a directory that train made")
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: not readable ({type(error).__name__})") from error
    if not isinstance(found, dict):
        raise UserError(f"{path}: damaged, accepted: a JSON object")
    return found


KEPT = 3
"""Checkpoints of a run that are kept, beside the best model."""


def best_checkpoint(directory: Path) -> Path | None:
    """The model that did best in evaluation."""
    return next(iter(_checkpoints(directory, "best")), None)


def last_checkpoint(directory: Path) -> Path | None:
    """The newest checkpoint."""
    return next(iter(_checkpoints(directory, "step")), None)


def step_of(checkpoint: Path) -> int:
    """The step at which a checkpoint was made."""
    return int(checkpoint.name.rsplit("_", 1)[-1])


def checkpoint_path(directory: Path, kind: str, step: int) -> Path:
    """Where a checkpoint of a kind, "step" or "best", belongs."""
    return directory / CHECKPOINTS / f"{kind}_{step:09d}"


def _checkpoints(directory: Path, kind: str) -> list[Path]:
    """Those of a kind, newest first."""
    return sorted((directory / CHECKPOINTS).glob(f"{kind}_*"), reverse=True)


def forget_old(directory: Path, kind: str, kept: int) -> None:
    """Delete all but the newest checkpoints of a kind."""
    for path in _checkpoints(directory, kind)[kept:]:
        remove_directory(path)


def forget_others(directory: Path, best: Path) -> None:
    """Delete all best models but this one."""
    for path in _checkpoints(directory, "best"):
        if path != best:
            remove_directory(path)


def clean_up(directory: Path) -> None:
    """Delete what a killed writer left unfinished; for the one who holds the directory."""
    for path in (directory / CHECKPOINTS).glob(".*"):
        shutil.rmtree(path, ignore_errors=True)


class Good(NamedTuple):
    """The newest checkpoint that is whole, and what is wrong with newer ones."""

    path: Path | None
    manifest: Manifest | None
    bad: dict[Path, str]


def newest_good(directory: Path) -> Good:
    """The newest checkpoint that can be trusted; none where there are none at all.

    Raises `CheckpointError` where there are some, and none of them is whole.
    """
    bad: dict[Path, str] = {}
    for path in _checkpoints(directory, "step"):
        try:
            manifest = checkpoint.manifest_of(path)
            checkpoint.verify(path, manifest)
        except CheckpointError as error:
            bad[path] = str(error)
        else:
            return Good(path, manifest, bad)
    if bad:
        raise CheckpointError(f"{directory}: no usable checkpoint: {'; '.join(bad.values())}")
    return Good(None, None, {})


def set_aside(bad: Iterable[Path]) -> None:
    """Let damaged checkpoints stand under another name, so that they do not count any more."""
    for path in bad:
        path.rename(path.with_name(f"damaged_{path.name}_{time.time_ns()}"))


def model_checkpoint(directory: Path) -> Path | None:
    """The best model of a run; its newest checkpoint where there is none that is whole."""
    best = best_checkpoint(directory)
    if best is not None:
        try:
            checkpoint.verify(best, checkpoint.manifest_of(best))
        except CheckpointError as error:
            warnings.warn(f"{error}; the newest checkpoint is used", stacklevel=2)
        else:
            return best
    return newest_good(directory).path


class Summary(NamedTuple):
    """A run at a glance."""

    directory: Path
    environment: str
    agent: str
    seed: int
    step: int
    steps: int
    episode_return: float | None
    best: float | None
    """Highest mean return in evaluation."""


def summaries(home: Path) -> Iterator[Summary]:
    """All runs in a directory and below."""
    for path in sorted(home.rglob(CONFIG)):
        directory = path.parent
        if not (directory / METRICS).exists() and not (directory / EPISODES).exists():
            continue
        try:
            yield summary_of(directory)
        except (UserError, ValueError, KeyError, TypeError):
            yield Summary(directory, "(damaged)", "", 0, 0, 0, None, None)


def summary_of(directory: Path) -> Summary:
    """A run at a glance."""
    config, metrics = read_config(directory), read_metrics(directory)
    returns = [line["rollout/ep_rew_mean"] for line in metrics[-1:] if "rollout/ep_rew_mean" in line]
    if not returns:
        gains = [row.gain for row in read_episodes(directory)[-RECENT:]]
        returns = [sum(gains) / len(gains)] if gains else []
    evaluated = [line["eval/mean_reward"] for line in metrics if "eval/mean_reward" in line]
    return Summary(
        directory,
        str(config.get("env")),
        str(config.get("agent")),
        int(config.get("seed", 0)),
        int(metrics[-1]["step"]) if metrics else 0,
        int(config.get("steps", 0)),
        returns[-1] if returns else None,
        max(evaluated, default=None),
    )
