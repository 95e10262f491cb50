"""Strict JAX for every test, and compiled programs kept between runs."""

import os
from pathlib import Path

# A program from the cache makes XLA warn of processor features that only its compiler knows.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Compiling takes most of the tests' time, and what it gains is speed that they do not need. A soak, and the
# comparisons with references, compile as users do.
if os.environ.get("SUREFOOT_SOAK") != "1":
    quickly = "--xla_backend_optimization_level=0", "--xla_cpu_use_fusion_emitters=false"
    os.environ.setdefault("XLA_FLAGS", " ".join([*quickly, "--xla_llvm_disable_expensive_passes=true"]))
# In the environment, so that processes that tests start share the cache.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parent.parent / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.05")

import jax
import matplotlib as mpl
import pytest
from hypothesis import settings

# Silent broadcasting and type promotion hide mistakes: forbid both.
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")

mpl.use("Agg")

# Time never decides a test, and a failure must come back on the next run.
settings.register_profile("surefoot", deadline=None, derandomize=True)
settings.load_profile("surefoot")


MAX_MEMORY_MAPS = 40_000
"""Linux gives a process 65,530, each compiled program takes some, and JAX crashes when none is left."""


@pytest.fixture(scope="module", autouse=True)
def memory_maps_left():
    """Compiled programs are dropped between modules if they take too many memory maps."""
    yield
    maps = Path("/proc/self/maps")
    if maps.exists() and len(maps.read_bytes().splitlines()) > MAX_MEMORY_MAPS:
        from surefoot.program_cache import PROGRAMS

        PROGRAMS.clear()
        jax.clear_caches()


@pytest.fixture(scope="session", autouse=True)
def few_networks():
    """UA-DQN has two auxiliary networks on vectors: it compiles in half the time. Gives the real number."""
    from surefoot.agents.presets import PRESETS

    settings = PRESETS["control"].by_agent["uadqn"]
    number, settings["auxiliary_networks"] = settings["auxiliary_networks"], 2
    return number


@pytest.fixture(scope="session", autouse=True)
def unlimited_program_cache():
    """One process runs the tests of many agents; a user's has a few."""
    from surefoot.program_cache import PROGRAMS

    PROGRAMS.size = 100_000
