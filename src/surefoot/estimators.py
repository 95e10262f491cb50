"""The paper's estimators of epistemic and aleatoric uncertainty.

Every function takes arrays of any library that follows the array API standard (NumPy, JAX, PyTorch, ...)
and returns arrays of the same library. Quantiles are on the last axis, draws from the posterior on the first.
Results are variances, in squared units of return; estimates are unbiased, so they may be negative.
"""

from typing import Annotated, Any, NamedTuple, TypeAlias, TypeVar

import array_api_compat

ArrayT = TypeVar("ArrayT")

Quantiles: TypeAlias = Annotated[ArrayT, "[..., N]: the outputs y_i of one network"]
Draws: TypeAlias = Annotated[ArrayT, "[K, ..., N]: the outputs of K networks"]
Variance: TypeAlias = Annotated[ArrayT, "[...]"]


class Variances(NamedTuple):
    """The epistemic and the aleatoric variance, and their sum, the total variance."""

    epistemic: Any
    aleatoric: Any
    total: Any


def epistemic_variance(y_a: Quantiles[ArrayT], y_b: Quantiles[ArrayT]) -> Variance[ArrayT]:
    """Half the mean squared difference of two posterior draws (eq. 7, Proposition 2.3).

    Departure: the paper prints the square outside the mean; here it is inside, as in the paper's proof.
    """
    xp, a, b = _two_draws(y_a, y_b)
    return xp.mean((a - b) ** 2, axis=-1) / 2


def aleatoric_variance(y_a: Quantiles[ArrayT], y_b: Quantiles[ArrayT]) -> Variance[ArrayT]:
    """Covariance over quantiles of two posterior draws (eq. 7, Proposition 2.3).

    It is unbiased, so it may be negative; it is not clipped here.
    """
    xp, a, b = _two_draws(y_a, y_b)
    return xp.mean(_centred(xp, a) * _centred(xp, b), axis=-1)


def quantile_variance(y: Quantiles[ArrayT]) -> Variance[ArrayT]:
    """Variance over the quantiles of one draw: the biased estimator of Proposition 2.1.

    It overestimates the aleatoric variance by the mean posterior variance of `y_i - mean_i(y_i)`.
    """
    xp, values = _floating("y", y)
    _require_two_quantiles("y", values)
    return xp.mean(_centred(xp, values) ** 2, axis=-1)


def decompose(draws: Draws[ArrayT]) -> Variances:
    """Unbiased epistemic, aleatoric and total variance from any K >= 2 posterior draws.

    With K = 2 these are eq. 7. With more, the epistemic variance is the sample variance over draws, and the
    aleatoric variance is the mean of eq. 7's covariance over all pairs of draws. It is computed as the
    variance of the mean quantiles less the part of it that comes from the scatter of the K draws.
    """
    xp, values = _several_draws("draws", draws)
    count = values.shape[0]
    if count == 2:  # Eq. 7 itself, and faster.
        y_a, y_b = values[0, ...], values[1, ...]
        epistemic, aleatoric = epistemic_variance(y_a, y_b), aleatoric_variance(y_a, y_b)
        return Variances(epistemic, aleatoric, epistemic + aleatoric)
    # Centred first: rounding errors of a draw's level must not exceed the spread of its quantiles.
    level = xp.mean(values, axis=-1, keepdims=True)
    centred = values - level
    mean = xp.mean(centred, axis=0, keepdims=True)
    scatter = xp.sum(xp.mean((centred - mean) ** 2, axis=-1), axis=0) / (count - 1)
    epistemic = scatter + xp.var(level[..., 0], axis=0, correction=1)
    aleatoric = xp.mean(mean[0, ...] ** 2, axis=-1) - scatter / count
    return Variances(epistemic, aleatoric, epistemic + aleatoric)


def posterior_epistemic_variance(posterior: Draws[ArrayT]) -> Variance[ArrayT]:
    """Exact epistemic variance: the mean over quantiles of their variance over the posterior (eq. 4).

    The first axis is the whole posterior: all its networks, equally likely, not a sample of them.
    """
    xp, values = _several_draws("posterior", posterior)
    return xp.mean(xp.var(values, axis=0), axis=-1)


def posterior_aleatoric_variance(posterior: Draws[ArrayT]) -> Variance[ArrayT]:
    """Exact aleatoric variance: the variance over quantiles of their mean over the posterior (eq. 5)."""
    xp, values = _several_draws("posterior", posterior)
    return xp.var(xp.mean(values, axis=0), axis=-1)


def posterior_total_variance(posterior: Draws[ArrayT]) -> Variance[ArrayT]:
    """Exact total variance: the variance over both posterior and quantiles (left side of eq. 6)."""
    xp, values = _several_draws("posterior", posterior)
    return xp.var(values, axis=(0, -1))


def _centred(xp: Any, values: Any) -> Any:
    return values - xp.mean(values, axis=-1, keepdims=True)


def _floating(name: str, array: Any) -> tuple[Any, Any]:
    """The array's namespace, and the array in floating point: differences of unsigned integers would wrap."""
    xp = array_api_compat.array_namespace(array)
    if xp.isdtype(array.dtype, "complex floating"):
        raise ValueError(f"{name}: quantiles are real numbers, got dtype {array.dtype}")
    if not xp.isdtype(array.dtype, "real floating"):
        array = xp.astype(array, xp.asarray(0.0).dtype)
    return xp, array


def _require_two_quantiles(name: str, values: Any) -> None:
    if values.ndim < 1 or values.shape[-1] < 2:
        raise ValueError(
            f"{name}: expected [..., N] with N >= 2 quantiles on the last axis, "
            f"got shape {tuple(values.shape)}"
        )


def _two_draws(y_a: Any, y_b: Any) -> tuple[Any, Any, Any]:
    array_api_compat.array_namespace(y_a, y_b)
    xp, a = _floating("y_a", y_a)
    _, b = _floating("y_b", y_b)
    _require_two_quantiles("y_a", a)
    if a.shape != b.shape:
        raise ValueError(
            f"y_a and y_b: expected two draws of one shape, got {tuple(a.shape)} and {tuple(b.shape)}"
        )
    return xp, a, b


def _several_draws(name: str, draws: Any) -> tuple[Any, Any]:
    xp, values = _floating(name, draws)
    if values.ndim < 2 or values.shape[0] < 2 or values.shape[-1] < 2:
        raise ValueError(
            f"{name}: expected [K, ..., N] with K >= 2 draws on the first axis and N >= 2 quantiles "
            f"on the last, got shape {tuple(values.shape)}"
        )
    return xp, values
