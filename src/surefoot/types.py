"""The contracts that the layers above share, and the shapes that pass between them."""

import operator
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp
from gymnasium.spaces import Box, Discrete
from jaxtyping import Array, Bool, Float, Int, Key, PyTree, Shaped

RandomKey = Key[Array, ""]
RandomKeys = Key[Array, "K"]
Scalar = Float[Array, ""]
Interval = tuple[float, float]

Network = eqx.Module
"""Any Equinox module that maps one example, without a batch axis, to an array of outputs."""

MakeNetwork = Callable[[RandomKey], Network]
"""Draws a fresh network: its architecture and the distribution of its initial weights."""


Observations = Box | Discrete
"""The spaces of observations that agents learn from."""


class UserError(ValueError):
    """A mistake that the user can mend; its text is one line and says how."""


def one_line(error: BaseException) -> str:
    """An error's kind and the first line of what it says."""
    says = str(error).strip().splitlines()
    return f"{type(error).__name__}: {says[0]}" if says else type(error).__name__


def words(thing: object) -> str:
    """What a thing says of itself, on one line."""
    return " ".join(str(thing).split())


def whole_number(name: str, value: Any, least: int | None = None) -> int:
    """A number as Python's own, whichever kind of whole number it is."""
    accepted = "whole numbers" if least is None else f"whole numbers from {least}"
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        raise UserError(f"{name}: got {value if number is not None else repr(value)}, accepted: {accepted}")
    return number


Thing = TypeVar("Thing")


class Same(Generic[Thing]):
    """A thing that equals itself alone, so that what was made for it can be found again."""

    def __init__(self, thing: Thing) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.thing is other.thing  # pyright: ignore[reportUnknownMemberType]

    def __hash__(self) -> int:
        return id(self.thing)


class FaultyEnvironmentError(UserError):
    """An environment broke its contract; the text names it, the episode and the step."""


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

    - `draws`: how many there are, K.
    - `init(key)`: fresh draws.
    - `penalty(params, prior, data_count)`: what each draw adds to its mean loss over the data, `[K]`.
    - `predict(params, inputs, keys)`: outputs of each draw, `[B, ...]` in, `[K, B, ...]` out, one
      key per draw.
    """

    draws: int
    init: Callable[[RandomKey], Draws]
    penalty: Callable[[PyTree, PyTree, Any], Float[Array, "K"]]
    predict: Callable[[PyTree, Array, RandomKeys], Float[Array, "K B ..."]]


class Transition(NamedTuple):
    """One step of an environment, or a batch of them.

    Only `terminated` stops the bootstrap: an outside time limit ends an episode, not the return.
    """

    obs: Shaped[Array, "*obs"]
    action: Int[Array, "*batch"]
    reward: Float[Array, "*batch"]
    terminated: Bool[Array, "*batch"]
    next_obs: Shaped[Array, "*obs"]


class Beliefs(NamedTuple):
    """What an agent thinks of each action in one state, or in many: all that policies and figures read.

    What an agent cannot give is None. Variances are raw: unbiased ones may be negative.
    """

    mean: Float[Array, "*batch A"]
    epistemic_variance: Float[Array, "*batch A"] | None = None
    aleatoric_variance: Float[Array, "*batch A"] | None = None
    quantiles: Float[Array, "*batch A N"] | None = None
    """Of the value network's return distribution."""
    members: Float[Array, "*batch K A"] | None = None
    """Mean return by each member of an ensemble that acts by one of them."""

    @property
    def epistemic(self) -> Float[Array, "*batch A"] | None:
        """Epistemic standard deviation, in units of return."""
        return _standard_deviation(self.epistemic_variance)

    @property
    def aleatoric(self) -> Float[Array, "*batch A"] | None:
        """Aleatoric standard deviation, in units of return."""
        return _standard_deviation(self.aleatoric_variance)


def _standard_deviation(variance: Float[Array, "*batch A"] | None) -> Float[Array, "*batch A"] | None:
    return None if variance is None else jnp.sqrt(jnp.maximum(variance, 0))


Action = Int[Array, ""]

Policy = Callable[[Beliefs, RandomKey, RandomKey, Any], Action]
"""Beliefs, a key for this step, a key for this episode and the number of the step to an action."""


class Learner(NamedTuple):
    """Everything of an agent that training changes, and the prior that it does not."""

    params: PyTree
    target: PyTree
    """The networks that targets come from: a copy of some of `params`, renewed now and then."""
    prior: PyTree
    optimiser: PyTree


class Agent(NamedTuple):
    """An agent as pure functions: state in, state out.

    - `init(key)`: a fresh learner.
    - `observe(learner, obs)`: takes notice of an observation that is acted on (its scale, say).
    - `update(learner, batch, data_count, key)`: one optimiser step on a batch.
    - `loss(learner, batch, data_count, key)`: what such a step would lower, for the log.
    - `renew_target(learner)`: targets come from the present networks from now on.
    - `beliefs(params, obs, key)`: what it thinks of one observation.
    - `explore`: its policy while learning; `exploit`: its policy when it counts.
    """

    init: Callable[[RandomKey], Learner]
    observe: Callable[[Learner, Array], Learner]
    update: Callable[[Learner, Transition, Any, RandomKey], Learner]
    loss: Callable[[Learner, Transition, Any, RandomKey], Scalar]
    renew_target: Callable[[Learner], Learner]
    beliefs: Callable[[PyTree, Array, RandomKey], Beliefs]
    explore: Policy
    exploit: Policy


class EnvironmentStep(NamedTuple):
    """What an environment answers to an action."""

    state: PyTree
    obs: Shaped[Array, "*obs"]
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    info: dict[str, Array]
    """Numbers about this step, the same names each time."""


class Environment(NamedTuple):
    """An environment in JAX, as two pure functions and its spaces.

    - `reset(key)`: first state and observation of an episode.
    - `step(state, action, key)`: what comes next. After the end of an episode, reset.
    """

    reset: Callable[[RandomKey], tuple[PyTree, Array]]
    step: Callable[[PyTree, Action, RandomKey], EnvironmentStep]
    observation_space: Box
    action_space: Discrete
