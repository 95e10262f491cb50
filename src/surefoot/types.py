"""The contracts that the layers above share, and the shapes that pass between them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, Float, Key, PyTree

RandomKey = Key[Array, ""]
RandomKeys = Key[Array, "K"]
Scalar = Float[Array, ""]
Interval = tuple[float, float]

Network = eqx.Module
"""Any Equinox module that maps one example, without a batch axis, to an array of outputs."""

MakeNetwork = Callable[[RandomKey], Network]
"""Draws a fresh network: its architecture and the distribution of its initial weights."""


class UserError(ValueError):
    """A mistake that the user can mend; its text is one line and says how."""


class Draws(NamedTuple):
    """K samples from the posterior over networks, as their method stores them.

    `params` is what training changes. `prior` is what a penalty compares it with (anchors, say), and
    stays as it was drawn.
    """

    params: PyTree
    prior: PyTree


class Posterior(NamedTuple):
    """A way of sampling networks from the posterior, as three pure functions.

    A method that keeps K networks apart (randomised MAP sampling, a plain ensemble) stores K of them
    in `params`; one that keeps a single network and samples from it at each prediction (dropout,
    variational weights) stores one and uses the keys. Callers do not see the difference.

    - `init(key, K)`: K fresh draws.
    - `penalty(params, prior, data_count)`: what each draw adds to its mean loss over the data, `[K]`.
    - `predict(params, inputs, keys)`: outputs of each draw, `[B, ...]` in, `[K, B, ...]` out, one
      key per draw.
    """

    init: Callable[[RandomKey, int], Draws]
    penalty: Callable[[PyTree, PyTree, Any], Float[Array, "K"]]
    predict: Callable[[PyTree, Array, RandomKeys], Float[Array, "K B ..."]]
