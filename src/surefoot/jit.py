"""`jax.jit` with compiler options: for a fast program, for a short compilation, or for some of both."""

from collections.abc import Callable
from typing import Any

import jax


def jit_for_speed(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`jax.jit` for programs that run for long, such as training.

    On CPU, XLA would copy all weights at every update, because a gradient might still read those that Adam
    overwrites. The option makes it analyse when each weight is read, and the copies go away.
    """
    return _jit(function, options, {"xla_cpu_copy_insertion_use_region_analysis": True})


def jit_for_startup(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`jax.jit` for programs that are called seldom or do little, such as initialisation.

    On CPU, XLA does not optimise them, which saves three quarters of the compilation time, and does not use
    its newer emitters, which hold a megabyte of memory for every fused loop while they compile.
    """
    return _jit(
        function, options, {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
    )


def jit_for_log(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """`jax.jit` for programs that run once for each entry of the log.

    Without its newer emitters, XLA on CPU compiles them in two thirds of the time, and they run half as
    fast; without optimisation, they would run a tenth as fast.
    """
    return _jit(function, options, {"xla_cpu_use_fusion_emitters": False})


def compiled_once(jitted: Callable[..., Any]) -> Callable[..., Callable[..., Any]]:
    """From arguments to the compiled program, for programs that are called in another thread.

    What is set by a context, such as `jax.enable_x64`, counts for the thread of the context alone; so it is
    this call that compiles, for the first arguments, and later ones must be of the same shapes and dtypes.
    """
    compiled: list[Callable[..., Any]] = []

    def compiled_for(*args: Any) -> Callable[..., Any]:
        if not compiled:
            compiled.append(jitted.lower(*args).compile())  # pyright: ignore[reportFunctionMemberAccess]
        return compiled[0]

    return compiled_for


def _jit(function: Callable[..., Any], options: dict[str, Any], on_cpu: dict[str, Any]) -> Callable[..., Any]:
    if jax.default_backend() == "cpu":
        options["compiler_options"] = on_cpu
    return jax.jit(function, **options)
