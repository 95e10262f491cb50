"""Compiled programs, kept between runs of the command."""

import os
import stat
from pathlib import Path

import jax

LONGEST_TO_COMPILE_AGAIN = 0.2
"""Seconds: what compiles faster is not worth a file."""
LARGEST = 2**30
"""Bytes; beyond that the programs not used for longest go."""


def keep_compiled_programs() -> None:
    """Take programs that were compiled before from the user's cache, and put new ones there.

    Unless JAX was told otherwise already. Processes that this one starts do the same.
    """
    if jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    try:
        home = _private_directory()
    except (OSError, RuntimeError):
        return  # Nowhere to write to is no reason to fail.
    told = {
        "jax_compilation_cache_dir": str(home),
        "jax_persistent_cache_min_compile_time_secs": LONGEST_TO_COMPILE_AGAIN,
        "jax_compilation_cache_max_size": LARGEST,
    }
    for name, value in told.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)


def _private_directory() -> Path:
    """A directory of the user's that nobody else can write to or read: programs are code."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    home = (given if given.is_absolute() else Path.home() / ".cache") / "surefoot"
    for directory in (home, home / "programs"):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise PermissionError(f"{directory} is not a directory of this user's")
        directory.chmod(0o700)
    return home / "programs"
