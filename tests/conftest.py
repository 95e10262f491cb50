"""Strict JAX for every test, and compiled programs kept between runs."""

import os
from pathlib import Path

# A program from the cache makes XLA warn of processor features that only its compiler knows.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import jax
import matplotlib as mpl
from hypothesis import settings

# Silent broadcasting and type promotion hide mistakes: forbid both.
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

jax.config.update("jax_compilation_cache_dir", str(Path(__file__).parent.parent / ".jax_cache"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)

mpl.use("Agg")

# Time never decides a test, and a failure must come back on the next run.
settings.register_profile("surefoot", deadline=None, derandomize=True)
settings.load_profile("surefoot")
