"""What decides where the agent is not sure: a function, another model, chance, or an exception."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from gymnasium.spaces import Discrete
from numpy.typing import NDArray

from surefoot.errors import UserError
from surefoot.text import single_line

ACCEPTED = 'a function of the observation, a model with predict, "random", or an exception'


class Question(NamedTuple):
    """A batch of observations, of which the fallback decides those that are handed over."""

    observations: NDArray[Any]
    handed_over: NDArray[np.bool_]
    signal: NDArray[np.float64]
    """How unsure the agent is of its own action."""


Answer = Callable[[Question], Any]
"""From a question to an action for each observation; only those for what is handed over are used."""


def resolve_fallback(fallback: Any, actions: Discrete, seed: int) -> Answer:
    """The function that answers with what a user gave as a fallback."""
    if isinstance(fallback, BaseException):
        return raising(lambda _: fallback)
    if isinstance(fallback, type) and issubclass(fallback, BaseException):
        return raising(fallback)
    if isinstance(fallback, str) and fallback == "random":
        return at_random(actions, seed)
    if hasattr(fallback, "predict"):
        return by_model(fallback, actions)
    if callable(fallback):
        return by_function(fallback, actions)
    raise UserError(f"fallback: got {single_line(fallback)[:60]!r}, accepted: {ACCEPTED}")


def raising(make_error: Callable[[str], BaseException]) -> Answer:
    """Raise the exception that is made from a message."""

    def answer(question: Question) -> Any:
        signal = float(question.signal[question.handed_over].max())
        raise make_error(f"the agent is not sure of its action: its uncertainty is {signal:.3g}")

    return answer


def at_random(actions: Discrete, seed: int) -> Answer:
    """Draw each action with equal probability."""
    rng = np.random.default_rng(seed)
    return lambda question: actions.start + rng.integers(actions.n, size=len(question.observations))


def by_model(model: Any, actions: Discrete) -> Answer:
    """Ask another model, always about the whole batch: a program is compiled for each size of batches.

    It decides by the observation alone, since it does not see the steps before it was asked.
    """

    def answer(question: Question) -> Any:
        found, _ = model.predict(question.observations, deterministic=True)
        for action in np.asarray(found)[question.handed_over]:
            _require_action(action, actions)
        return found

    return answer


def by_function(function: Callable[[Any], Any], actions: Discrete) -> Answer:
    """Ask a function about each observation that is handed over."""

    def answer(question: Question) -> Any:
        found = np.zeros(len(question.observations), np.int64)
        for index in np.flatnonzero(question.handed_over):
            found[index] = _require_action(function(question.observations[index]), actions)
        return found

    return answer


def _require_action(action: Any, actions: Discrete) -> Any:
    if not (np.ndim(action) == 0 and actions.contains(np.asarray(action)[()])):
        raise UserError(f"fallback: its action is {single_line(action)[:60]}, accepted: {actions}")
    return action
