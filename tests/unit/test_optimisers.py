import jax.numpy as jnp
import numpy as np

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
