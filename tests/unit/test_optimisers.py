import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from surefoot.optimisers import adam


def test_adams_first_step_is_the_rate_against_the_sign_of_the_gradient():
    optimiser = adam(0.1)
    params = {"a": jnp.array([1.0, 2.0])}
    updates, state = optimiser.update({"a": jnp.array([3.0, -0.5])}, optimiser.init(params), params)
    np.testing.assert_allclose(updates["a"], [-0.1, 0.1], rtol=1e-5)
    assert state.steps == 1


def test_epsilon_damps_small_gradients():
    """With gradient g the first step is rate g / (|g| + epsilon)."""
    optimiser = adam(0.1, epsilon=0.5)
    params = jnp.array([0.0])
    updates, _ = optimiser.update(jnp.array([0.5]), optimiser.init(params), params)
    np.testing.assert_allclose(updates, [-0.05], rtol=1e-5)


@pytest.mark.parametrize("epsilon", [1e-8, 1e-2])
def test_adam_is_optaxs_but_for_rounding(epsilon):
    ours, theirs = adam(1e-2, epsilon=epsilon), optax.adam(1e-2, eps=epsilon)
    params = {"a": jnp.ones((5, 3)), "b": jnp.zeros(4)}
    here, there = (params, ours.init(params)), (params, theirs.init(params))
    for key in jax.random.split(jax.random.key(0), 300):
        gradients = jax.tree.map(lambda leaf: jax.random.normal(key, leaf.shape) * 10.0, params)  # noqa: B023
        updates, state = ours.update(gradients, here[1])
        here = (optax.apply_updates(here[0], updates), state)
        with jax.numpy_dtype_promotion("standard"):
            updates, state = theirs.update(gradients, there[1])
        there = (optax.apply_updates(there[0], updates), state)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), here[0], there[0])
    assert here[1].steps == 300
