"""Compiled programs, kept between runs of the command."""

import os
from pathlib import Path

import jax

LONGEST_TO_COMPILE_AGAIN = 0.2
"""Seconds: what compiles faster is not worth a file."""
LARGEST = 2**30
"""Bytes; beyond that the programs not used for longest go."""


def keep_compiled_programs() -> None:
    """Take programs that were compiled before from the user's cache, and put new ones there.

    Unless JAX was told otherwise already. Programs are code: the directory is the user's alone.
    """
    if jax.config.values["jax_compilation_cache_dir"] is not None:
        return
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = root / "surefoot" / "programs"
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.chmod(0o700)  # Fails where it belongs to somebody else.
    except OSError:
        return  # A home that cannot be written to is no reason to fail.
    jax.config.update("jax_compilation_cache_dir", str(home))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", LONGEST_TO_COMPILE_AGAIN)
    jax.config.update("jax_compilation_cache_max_size", LARGEST)
