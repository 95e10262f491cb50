"""Programs that JAX compiled, stored on disk so that later commands need not compile them again."""

import os
import stat
from pathlib import Path

import jax

MIN_COMPILE_SECONDS = 0.2
"""Programs that compile faster are not stored."""
MAX_CACHE_BYTES = 2**30
"""If the stored programs are larger in sum, the least recently used are deleted."""


def enable_compilation_cache() -> None:
    """Store compiled programs in the user's cache directory, and load them from there.

    Nothing changes if JAX has a cache configured already. Processes that this one starts share the cache.
    """
    if jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    try:
        cache = _private_directory()
    except (OSError, RuntimeError):
        return  # Without a directory to write to, programs are compiled every time.
    options = {
        "jax_compilation_cache_dir": str(cache),
        "jax_persistent_cache_min_compile_time_secs": MIN_COMPILE_SECONDS,
        "jax_compilation_cache_max_size": MAX_CACHE_BYTES,
    }
    for name, value in options.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)


def _private_directory() -> Path:
    """A directory that only this user can read or write, because programs are code that is run."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    parent = (given if given.is_absolute() else Path.home() / ".cache") / "surefoot"
    for directory in (parent, parent / "programs"):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise PermissionError(f"{directory} is not a directory that belongs to this user")
        directory.chmod(0o700)
    return parent / "programs"
