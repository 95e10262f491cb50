"""How functions become programs: ready soon, or fast once they are ready."""

from collections.abc import Callable
from typing import Any

import jax


def to_run_fast(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`jax.jit` for what learns.

    On CPU, XLA would copy all weights at every update, for fear that a gradient still needs those that Adam
    is about to write over; told to look at when each is read, it does not.
    """
    return _compiled(function, options, {"xla_cpu_copy_insertion_use_region_analysis": True})


def to_start_fast(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`jax.jit` for what is seldom called, or moves small things about.

    On CPU, XLA is told not to optimise it, which takes three quarters of the time of compiling; and to
    leave out its newer emitters, which keep a megabyte for every fused loop meanwhile.
    """
    return _compiled(
        function, options, {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
    )


def _compiled(
    function: Callable[..., Any], options: dict[str, Any], on_cpu: dict[str, Any]
) -> Callable[..., Any]:
    if jax.default_backend() == "cpu":
        options["compiler_options"] = on_cpu
    return jax.jit(function, **options)
