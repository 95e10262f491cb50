"""Compiled programs are kept for the user, and for the user alone."""

import os
import stat
import subprocess
import sys

SHOW = "import jax, surefoot.cli.compilation_cache as c; c.keep_compiled_programs(); print(jax.config.values['{}'])"


def kept_in(home, **environment):
    """Where a fresh process keeps its programs."""
    clean = {name: value for name, value in os.environ.items() if name != "JAX_COMPILATION_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", SHOW.format("jax_compilation_cache_dir")],
        env={**clean, "XDG_CACHE_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_programs_are_kept_in_the_users_cache_in_private(tmp_path):
    home = tmp_path / "surefoot" / "programs"
    home.mkdir(parents=True, mode=0o777)
    assert kept_in(tmp_path) == str(home)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_what_jax_was_told_is_left_as_it_is(tmp_path):
    assert kept_in(tmp_path, JAX_COMPILATION_CACHE_DIR="elsewhere") == "elsewhere"
    assert not list(tmp_path.iterdir())


def test_a_home_that_cannot_be_written_to_is_no_reason_to_fail(tmp_path):
    (tmp_path / "file").write_text("")
    assert kept_in(tmp_path / "file") == "None"
