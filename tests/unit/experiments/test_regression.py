"""Training for the regression experiments."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from surefoot.experiments.regression import make_fit


def noisy_distance(params, data, key):
    """A gradient step of size 1 moves to the data plus noise of that step's key."""
    return jnp.sum((params["x"] - data - jax.random.normal(key, (2,))) ** 2) / 2


def test_every_step_has_its_own_key():
    fit = make_fit(noisy_distance, optax.sgd(1.0))
    key, data = jax.random.key(0), jnp.array([10.0, 20.0])
    for steps in (1, 7, 25):
        found = fit({"x": jnp.zeros(2)}, data, key, steps, lambda _: None)["x"]
        last = jax.random.normal(jax.random.fold_in(key, steps - 1), (2,))
        np.testing.assert_allclose(found, data + last, rtol=1e-5)


def test_progress_adds_up_to_one_for_any_number_of_steps():
    fit = make_fit(noisy_distance, optax.sgd(0.1))
    for steps in (1, 3, 100):
        progress = []
        fit({"x": jnp.zeros(2)}, jnp.zeros(2), jax.random.key(0), steps, progress.append)
        assert sum(progress) == pytest.approx(1)
