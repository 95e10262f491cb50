"""Training for the regression experiments: many optimiser steps in one compiled program."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import PyTree

from surefoot.experiments.base import Advance
from surefoot.networks import is_trained
from surefoot.types import RandomKey, Scalar

Loss = Callable[[PyTree, Any, RandomKey], Scalar]
"""The loss as a function of parameters, data and a key."""
Fit = Callable[[PyTree, Any, RandomKey, int, Advance], PyTree]
"""Trained parameters from initial ones, data, a key, a number of steps and a progress report."""

CHUNKS = 10
"""Number of times that a fit reports progress."""


def make_fit(loss: Loss, optimiser: optax.GradientTransformation) -> Fit:
    """A compiled function that minimises `loss(params, data, key)`, starting at given parameters."""

    @eqx.filter_jit
    def run(params: PyTree, state: PyTree, data: Any, key: RandomKey, start: Any, stop: Any) -> Any:
        trained, fixed = eqx.partition(params, is_trained(params))

        def step(i: Any, carry: tuple[PyTree, PyTree]) -> tuple[PyTree, PyTree]:
            trained, state = carry
            gradients = jax.grad(
                lambda each: loss(eqx.combine(each, fixed), data, jax.random.fold_in(key, i))
            )(trained)
            updates, state = optimiser.update(gradients, state, trained)
            return optax.apply_updates(trained, updates), state

        trained, state = jax.lax.fori_loop(start, stop, step, (trained, state))
        return eqx.combine(trained, fixed), state

    def fit(params: PyTree, data: Any, key: RandomKey, steps: int, advance: Advance) -> PyTree:
        state = optimiser.init(eqx.filter(params, is_trained(params)))
        bounds = [steps * chunk // CHUNKS for chunk in range(CHUNKS + 1)]
        for start, stop in pairwise(bounds):
            params, state = jax.block_until_ready(
                run(params, state, data, key, jnp.asarray(start), jnp.asarray(stop))
            )
            advance(1 / CHUNKS)
        return params

    return fit
