"""Training for the regression experiments."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from surefoot.experiments.regression import make_fit


def noisy_distance(params, data, key):
    """A plain gradient step of size 1 lands on the data plus a draw of its own."""
    return jnp.sum((params["x"] - data - jax.random.normal(key, (2,))) ** 2) / 2


def test_every_step_has_a_key_of_its_own_and_the_data_it_was_given():
    fit = make_fit(noisy_distance, optax.sgd(1.0))
    key, data = jax.random.key(0), jnp.array([10.0, 20.0])
    for steps in (1, 7, 25):
        found = fit({"x": jnp.zeros(2)}, data, key, steps, lambda _: None)["x"]
        last = jax.random.normal(jax.random.fold_in(key, steps - 1), (2,))
        np.testing.assert_allclose(found, data + last, rtol=1e-5)


def test_progress_adds_up_to_one_however_few_the_steps():
    fit = make_fit(noisy_distance, optax.sgd(0.1))
    for steps in (1, 3, 100):
        done = []
        fit({"x": jnp.zeros(2)}, jnp.zeros(2), jax.random.key(0), steps, done.append)
        assert sum(done) == pytest.approx(1)
