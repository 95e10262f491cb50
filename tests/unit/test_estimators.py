"""Estimators: properties that hold for any input, all array libraries, and clear errors."""

import array_api_strict
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from surefoot import estimators
from surefoot.estimators import (
    aleatoric_variance,
    decompose,
    epistemic_variance,
    posterior_aleatoric_variance,
    posterior_epistemic_variance,
    posterior_total_variance,
    quantile_variance,
)

NUMBERS = st.floats(-100, 100, allow_subnormal=False)
CLOSE = {"rtol": 1e-9, "atol": 1e-8}
FROM_TWO_DRAWS = [epistemic_variance, aleatoric_variance]
FROM_WHOLE_POSTERIOR = [
    posterior_epistemic_variance,
    posterior_aleatoric_variance,
    posterior_total_variance,
]


def draws(least=2, most=6):
    """[K, actions, N] with any K, at least two actions and two quantiles."""
    shapes = st.tuples(st.integers(least, most), st.integers(2, 4), st.integers(2, 8))
    return shapes.flatmap(lambda shape: hnp.arrays(float, shape, elements=NUMBERS))


def pairs():
    return draws(2, 2)


def test_estimates_from_two_networks_equal_a_case_computed_by_hand():
    y_a, y_b = np.array([1.0, 2.0, 6.0]), np.array([3.0, 2.0, 4.0])
    assert epistemic_variance(y_a, y_b) == pytest.approx((4 + 0 + 4) / 3 / 2)
    assert aleatoric_variance(y_a, y_b) == pytest.approx((-2 * 0 + -1 * -1 + 3 * 1) / 3)
    assert quantile_variance(y_a) == pytest.approx((4 + 1 + 9) / 3)


def test_estimates_from_the_whole_posterior_equal_a_case_computed_by_hand():
    posterior = np.array([[1.0, 5.0], [3.0, 5.0]])
    assert posterior_epistemic_variance(posterior) == pytest.approx((1 + 0) / 2)
    assert posterior_aleatoric_variance(posterior) == pytest.approx(((5 - 2) / 2) ** 2)
    assert posterior_total_variance(posterior) == pytest.approx(0.5 + 2.25)


@given(pairs(), NUMBERS)
def test_a_shift_of_both_networks_changes_no_estimate(pair, shift):
    for estimate in FROM_TWO_DRAWS:
        np.testing.assert_allclose(estimate(*(pair + shift)), estimate(*pair), **CLOSE)


@given(pairs(), NUMBERS)
def test_a_shift_of_one_network_alone_changes_only_the_epistemic_variance(pair, shift):
    y_a, y_b = pair
    np.testing.assert_allclose(aleatoric_variance(y_a + shift, y_b), aleatoric_variance(y_a, y_b), **CLOSE)
    gap = (y_a - y_b).mean(axis=-1)
    growth = epistemic_variance(y_a + shift, y_b) - epistemic_variance(y_a, y_b)
    np.testing.assert_allclose(growth, shift * gap + shift**2 / 2, **CLOSE)


@given(draws(), st.floats(-10, 10))
def test_variances_scale_with_the_square_of_a_factor(values, factor):
    for scaled, plain in zip(decompose(factor * values), decompose(values), strict=True):
        np.testing.assert_allclose(scaled, factor**2 * plain, rtol=1e-9, atol=1e-7)


@given(pairs())
def test_estimates_are_symmetric_in_the_two_networks(pair):
    y_a, y_b = pair
    for estimate in FROM_TWO_DRAWS:
        np.testing.assert_array_equal(estimate(y_a, y_b), estimate(y_b, y_a))


@given(draws(), st.randoms(use_true_random=False))
def test_the_order_of_quantiles_and_of_draws_does_not_matter(values, random):
    quantile_order = random.sample(range(values.shape[-1]), values.shape[-1])
    draw_order = random.sample(range(values.shape[0]), values.shape[0])
    shuffled = values[draw_order][..., quantile_order]
    for one, other in zip(decompose(shuffled), decompose(values), strict=True):
        np.testing.assert_allclose(one, other, **CLOSE)


@given(pairs(), st.integers(0, 1), NUMBERS)
def test_the_estimate_of_one_action_ignores_the_other_actions(pair, network, value):
    changed = pair.copy()
    changed[network, 1] = value
    for estimate in FROM_TWO_DRAWS:
        assert estimate(*changed)[0] == estimate(*pair)[0]
    for one, other in zip(decompose(changed), decompose(pair), strict=True):
        assert one[0] == other[0]


@given(pairs())
def test_two_draws_decompose_into_the_two_network_estimates(pair):
    epistemic, aleatoric, total = decompose(pair)
    np.testing.assert_allclose(epistemic, epistemic_variance(*pair), **CLOSE)
    np.testing.assert_allclose(aleatoric, aleatoric_variance(*pair), **CLOSE)
    np.testing.assert_allclose(total, epistemic + aleatoric, **CLOSE)


@given(draws())
def test_more_draws_decompose_into_the_mean_over_all_pairs(values):
    pairs = [(i, j) for i in range(len(values)) for j in range(i)]
    epistemic, aleatoric, _ = decompose(values)
    for estimate, found in ((epistemic_variance, epistemic), (aleatoric_variance, aleatoric)):
        over_pairs = np.mean([estimate(values[i], values[j]) for i, j in pairs], axis=0)
        np.testing.assert_allclose(found, over_pairs, **CLOSE)


@given(pairs())
def test_networks_that_agree_have_no_epistemic_variance(pair):
    y = pair[0]
    assert np.all(epistemic_variance(y, y) == 0)
    np.testing.assert_allclose(aleatoric_variance(y, y), quantile_variance(y), **CLOSE)


def test_the_aleatoric_estimate_may_be_negative():
    assert aleatoric_variance(np.array([0.0, 1.0]), np.array([1.0, 0.0])) == -0.25


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("library", [np, jnp])
def test_the_level_of_a_draw_does_not_swamp_the_spread_of_its_quantiles(count, library):
    """The spreads are 1 and the levels differ by thousands, in single precision."""
    rng = np.random.default_rng(0)
    levels = 1000 * rng.normal(size=(count, 200, 1))
    exact = np.round((levels + np.linspace(-2, 2, 50) + 0.1 * rng.normal(size=(count, 200, 50))) * 256) / 256
    rounded = library.asarray(exact, dtype=library.float32)
    assert np.array_equal(np.asarray(rounded, float), exact)
    np.testing.assert_allclose(decompose(rounded).aleatoric, decompose(exact).aleatoric, rtol=1e-3)
    np.testing.assert_allclose(decompose(rounded).epistemic, decompose(exact).epistemic, rtol=1e-4)
    np.testing.assert_allclose(quantile_variance(rounded), quantile_variance(exact), rtol=1e-3)
    np.testing.assert_allclose(
        aleatoric_variance(rounded[0], rounded[1]), aleatoric_variance(exact[0], exact[1]), rtol=1e-3
    )


@pytest.mark.parametrize("count", [2, 3, 5])
def test_draws_that_nearly_agree_keep_their_small_epistemic_variance(count):
    rng = np.random.default_rng(0)
    shared = np.linspace(-2, 2, 50)
    exact = (shared + 1e-3 * rng.normal(size=(count, 200, 50))).astype(np.float32).astype(float)
    found = decompose(exact.astype(np.float32)).epistemic
    np.testing.assert_allclose(found, decompose(exact).epistemic, rtol=1e-3)


@pytest.fixture(scope="module")
def sample():
    return np.random.default_rng(0).normal(size=(3, 4, 5))


def every_estimate(values):
    return [
        epistemic_variance(values[0, ...], values[1, ...]),
        aleatoric_variance(values[0, ...], values[1, ...]),
        quantile_variance(values[0, ...]),
        *decompose(values),
        *(estimate(values) for estimate in FROM_WHOLE_POSTERIOR),
    ]


def test_jax_arrays_give_jax_arrays_under_jit_and_vmap(sample):
    values = jnp.asarray(sample, dtype=jnp.float32)
    over_actions = jax.vmap(every_estimate, in_axes=1)
    for transformed in (every_estimate, jax.jit(every_estimate), jax.jit(over_actions)):
        for found, truth in zip(transformed(values), every_estimate(sample), strict=True):
            assert isinstance(found, jax.Array)
            assert found.dtype == jnp.float32
            np.testing.assert_allclose(found, truth, rtol=1e-5, atol=1e-6)


def test_only_the_array_api_standard_is_used(sample):
    for found, truth in zip(
        every_estimate(array_api_strict.asarray(sample)), every_estimate(sample), strict=True
    ):
        assert isinstance(found, type(array_api_strict.asarray(0.0)))
        np.testing.assert_allclose(np.from_dlpack(found), truth)


def test_numpy_arrays_give_numpy_results_of_their_own_precision(sample):
    for dtype in (np.float32, np.float64):
        for found in every_estimate(sample.astype(dtype)):
            assert isinstance(found, np.ndarray)
            assert found.dtype == dtype


def test_gradients_flow_through_the_estimates():
    y_a, y_b = jnp.array([1.0, 2.0, 6.0]), jnp.array([3.0, 2.0, 4.0])
    np.testing.assert_allclose(jax.grad(epistemic_variance)(y_a, y_b), (y_a - y_b) / 3, rtol=1e-6)


@pytest.mark.parametrize("library", [np, jnp])
def test_whole_numbers_are_converted_to_floating_point(library):
    """Differences of unsigned bytes would wrap around below zero."""
    y_a = library.asarray([1, 2, 6], dtype=library.uint8)
    y_b = library.asarray([3, 2, 4], dtype=library.uint8)
    assert float(epistemic_variance(y_a, y_b)) == pytest.approx(4 / 3)


@pytest.mark.parametrize("library", [np, jnp])
def test_wrong_shapes_are_refused_with_the_shape_they_have(library):
    row, one = library.ones(4), library.ones((4, 1))
    for estimate in FROM_TWO_DRAWS:
        with pytest.raises(ValueError, match=r"one shape, got \(4,\) and \(5,\)"):
            estimate(row, library.ones(5))
        with pytest.raises(ValueError, match=r"one shape, got \(4,\) and \(1, 4\)"):
            estimate(row, row[None])
        with pytest.raises(ValueError, match=r"y_a: .* N >= 2 .* got shape \(4, 1\)"):
            estimate(one, one)
        with pytest.raises(ValueError, match=r"got shape \(\)"):
            estimate(library.asarray(1.0), library.asarray(1.0))
    with pytest.raises(ValueError, match=r"y: .* N >= 2"):
        quantile_variance(one)
    for estimate in (decompose, *FROM_WHOLE_POSTERIOR):
        with pytest.raises(ValueError, match=r"K >= 2 draws .* got shape \(1, 3\)"):
            estimate(library.ones((1, 3)))
        with pytest.raises(ValueError, match=r"N >= 2 quantiles .* got shape \(3, 1\)"):
            estimate(library.ones((3, 1)))
        with pytest.raises(ValueError, match=r"got shape \(3,\)"):
            estimate(library.ones(3))


def test_complex_numbers_and_mixed_libraries_are_refused():
    with pytest.raises(ValueError, match="real numbers, got dtype complex128"):
        quantile_variance(np.ones(3, dtype=complex))
    with pytest.raises(TypeError, match="Multiple namespaces"):
        epistemic_variance(np.ones(3), jnp.ones(3))
    with pytest.raises(TypeError, match="list"):
        epistemic_variance([1.0, 2.0], [1.0, 2.0])


def test_the_estimators_are_part_of_the_package():
    import surefoot

    assert surefoot.estimators is estimators
