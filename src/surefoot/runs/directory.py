"""The directory of a run: created once, written by one process at a time, read by anyone."""

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

from surefoot.errors import UserError
from surefoot.runs import checkpoint
from surefoot.runs.checkpoint import CheckpointError, Manifest
from surefoot.runs.log_files import EPISODES, METRICS, read_episodes, read_metrics
from surefoot.runs.metrics import RECENT_EPISODES
from surefoot.system.disk import remove_directory, replace_file
from surefoot.system.locks import lock_at

CONFIG, LOCK, HOLDER, CHECKPOINTS = "config.json", "run.lock", "run.holder", "checkpoints"


def new_directory(home: Path, name: str) -> Path:
    """Make the first of `name`, `name-2`, ... that does not exist; two runs that start at once get two."""
    for number in count(1):
        directory = home / (name if number == 1 else f"{name}-{number}")
        try:
            directory.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise UserError(f"out: could not make {directory} ({error.strerror}); name another") from error
        return directory
    raise AssertionError("unreachable: `count` does not end")


def create(directory: Path, config: Mapping[str, Any]) -> FileLock:
    """Make a run's directory and write its configuration; the caller releases the lock."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not (directory / LOCK).exists():
            _require_empty(
                directory
            )  # Before the lock, so that no file is added to someone else's directory.
        held = lock(directory)
    except OSError as error:
        raise UserError(
            f"out: got {directory}, accepted: a directory to write to ({error.strerror})"
        ) from error
    try:
        _require_empty(directory)
        write_config(directory, config)
    except BaseException:
        held.release()
        raise
    return held


def _require_empty(directory: Path) -> None:
    held = sorted({path.name for path in directory.iterdir()} - {LOCK, HOLDER, f".{CONFIG}.tmp"})
    if held:
        raise UserError(
            f"out: {directory} already holds {', '.join(held[:3])}, accepted: a new or an empty directory "
            "(resume continues a run that is there)"
        )


def write_config(directory: Path, config: Mapping[str, Any]) -> None:
    """Write a run's configuration, all of it or nothing."""
    replace_file(directory / CONFIG, (json.dumps(config, indent=2) + "\n").encode())


def lock(directory: Path) -> FileLock:
    """Lock a run's directory for this process; the operating system unlocks it if the process dies."""
    held = lock_at(directory / LOCK)
    try:
        held.acquire()
    except Timeout:
        raise UserError(
            f"{directory}: in use by {_holder(directory)}, accepted: one writer at a time"
        ) from None
    except OSError as error:
        accepted = "a directory to write to, on a file system with locks"
        raise UserError(
            f"{directory}: could not be locked ({error.strerror}), accepted: {accepted}"
        ) from error
    with suppress(OSError):  # It only serves a message, and the disk may be full.
        (directory / HOLDER).write_text(f"process {os.getpid()} on {socket.gethostname()}")
    return held


def is_locked(directory: Path) -> bool:
    """Whether some process has locked a run's directory now."""
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


KEPT_CHECKPOINTS = 3
"""Checkpoints of a run that are kept, in addition to the best model."""


def best_checkpoint(directory: Path) -> Path | None:
    """The model with the highest mean return in evaluation."""
    return next(iter(_checkpoints(directory, "best")), None)


def last_checkpoint(directory: Path) -> Path | None:
    """The newest checkpoint."""
    return next(iter(_checkpoints(directory, "step")), None)


def step_of(checkpoint: Path) -> int:
    """The step at which a checkpoint was made."""
    return int(checkpoint.name.rsplit("_", 1)[-1])


def checkpoint_path(directory: Path, kind: str, step: int) -> Path:
    """The path of a checkpoint of a kind, "step" or "best"."""
    return directory / CHECKPOINTS / f"{kind}_{step:09d}"


def _checkpoints(directory: Path, kind: str) -> list[Path]:
    """The checkpoints of a kind, newest first."""
    return sorted((directory / CHECKPOINTS).glob(f"{kind}_*"), reverse=True)


def delete_old(directory: Path, kind: str, kept: int) -> None:
    """Delete all but the newest checkpoints of a kind."""
    for path in _checkpoints(directory, kind)[kept:]:
        remove_directory(path)


def delete_best_except(directory: Path, best: Path | None) -> None:
    """Delete all best models except this one."""
    for path in _checkpoints(directory, "best"):
        if path != best:
            remove_directory(path)


def clean_up(directory: Path) -> None:
    """Delete what a killed process left unfinished; the caller must have locked the directory."""
    for path in (directory / CHECKPOINTS).glob(".*"):
        shutil.rmtree(path, ignore_errors=True)


class NewestCheckpoint(NamedTuple):
    """The newest checkpoint that is not damaged, and what is wrong with newer ones."""

    path: Path | None
    manifest: Manifest | None
    damaged: dict[Path, str]

    def warn_of_damage(self) -> None:
        """Warn of every damaged checkpoint that is newer than the one used."""
        for wrong in self.damaged.values():
            used = "none" if self.manifest is None else f"that of step {self.manifest.step:,}"
            warnings.warn(f"{wrong}; an older checkpoint is used, {used}", stacklevel=3)


def newest_checkpoint(directory: Path) -> NewestCheckpoint:
    """The newest checkpoint that is not damaged; its path is None where there is no checkpoint at all.

    Raises `CheckpointError` if there are some and all are damaged.
    """
    damaged: dict[Path, str] = {}
    for path in _checkpoints(directory, "step"):
        try:
            manifest = checkpoint.manifest_of(path)
            checkpoint.verify(path, manifest)
        except CheckpointError as error:
            damaged[path] = str(error)
        else:
            return NewestCheckpoint(path, manifest, damaged)
    if damaged:
        raise CheckpointError(f"{directory}: no usable checkpoint: {'; '.join(damaged.values())}")
    return NewestCheckpoint(None, None, {})


def rename_damaged(damaged: Iterable[Path]) -> None:
    """Give damaged checkpoints another name, so that they are not looked at any more."""
    for path in damaged:
        path.rename(path.with_name(f"damaged_{path.name}_{time.time_ns()}"))


def model_checkpoint(directory: Path) -> Path | None:
    """The best model of a run; its newest checkpoint if there is no best one, or it is damaged."""
    best = best_checkpoint(directory)
    if best is not None:
        try:
            checkpoint.verify(best, checkpoint.manifest_of(best))
        except CheckpointError as error:
            warnings.warn(f"{error}; the newest checkpoint is used", stacklevel=2)
        else:
            return best
    return last_good_checkpoint(directory)


def last_good_checkpoint(directory: Path) -> Path | None:
    """The newest checkpoint that is not damaged, with a warning if a newer one is."""
    newest = newest_checkpoint(directory)
    newest.warn_of_damage()
    return newest.path


def require_model_directory(path: Path) -> None:
    """Refuse a directory that holds no model, and say where one is if runs lie in it."""
    if (path / checkpoint.MANIFEST).is_file():
        return
    runs = sorted(found.parent for found in path.glob(f"*/{CONFIG}"))
    if runs:
        raise UserError(f"{path}: holds {len(runs)} runs, accepted: one of them, such as {runs[0]}")
    if not path.is_dir():
        raise UserError(f"{path}: does not exist, accepted: a directory that save or train wrote")
    raise UserError(f"{path}: no model here, accepted: a directory that save or train wrote")


class Summary(NamedTuple):
    """The state of a run in one line."""

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
    """The state of a run in one line."""
    config, metrics = read_config(directory), read_metrics(directory)
    returns = [line["rollout/ep_rew_mean"] for line in metrics[-1:] if "rollout/ep_rew_mean" in line]
    if not returns:
        latest = [row.episode_return for row in read_episodes(directory)[-RECENT_EPISODES:]]
        returns = [sum(latest) / len(latest)] if latest else []
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
