"""Compiled programs are stored on disk, where only the user can read or write them."""

import os
import stat
import subprocess
import sys

SCRIPT = """
import jax
from surefoot.cli.compilation_cache import enable_compilation_cache
enable_compilation_cache()
print(jax.config.values["jax_compilation_cache_dir"])
"""


def cache_directory(user_cache, **environment):
    """The directory in which a new process stores its programs."""
    clean = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**clean, "XDG_CACHE_HOME": str(user_cache), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_programs_are_stored_in_a_private_directory_of_the_user(tmp_path):
    programs = tmp_path / "surefoot" / "programs"
    programs.mkdir(parents=True, mode=0o777)
    assert cache_directory(tmp_path) == str(programs)
    assert stat.S_IMODE(programs.stat().st_mode) == 0o700


def test_a_cache_that_jax_has_already_is_not_changed(tmp_path):
    assert cache_directory(tmp_path, JAX_COMPILATION_CACHE_DIR="elsewhere") == "elsewhere"
    assert not list(tmp_path.iterdir())


def test_without_a_directory_to_write_to_nothing_is_stored(tmp_path):
    (tmp_path / "file").write_text("")
    assert cache_directory(tmp_path / "file") == "None"
