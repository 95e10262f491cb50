"""JAX is pinned because newer releases compute wrong numbers on CPU; with those, these tests fail."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest


@pytest.mark.parametrize(("dtype", "rows"), [("float32", 40_000), ("float64", 20_000)])
def test_jit_equals_eager_on_a_vmapped_matrix_vector_product_followed_by_a_sum(dtype, rows):
    with jax.enable_x64(dtype == "float64"):
        vectors = jnp.asarray(np.random.default_rng(0).normal(size=(rows, 3)), dtype)
        matrix = jnp.asarray(np.random.default_rng(1).normal(size=(3, 3)), dtype)

        def squared_lengths(vectors):
            return jax.vmap(lambda vector: jnp.sum((matrix @ vector) ** 2))(vectors)

        truth = ((np.asarray(vectors, float) @ np.asarray(matrix, float).T) ** 2).sum(axis=-1)
        np.testing.assert_allclose(squared_lengths(vectors), truth, rtol=1e-4)
        np.testing.assert_allclose(jax.jit(squared_lengths)(vectors), truth, rtol=1e-4)
