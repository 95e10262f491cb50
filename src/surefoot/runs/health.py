"""Is everything still a number? What is not stops a run before it spoils what was saved."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool

from surefoot import replay as replays
from surefoot.agents.base import Learning
from surefoot.training import step as steps
from surefoot.training.step import Record, Run
from surefoot.types import Agent, Scalar, Transition, UserError

THOUGHTS = {
    "value": "value of the chosen action",
    "epistemic": "epistemic uncertainty",
    "aleatoric": "aleatoric uncertainty",
}
"""What is recorded of a choice."""


class UnhealthyError(UserError):
    """Training has left the numbers; the text says which quantity, at which step."""

    def __init__(self, quantity: str, step: int, batch: Transition) -> None:
        super().__init__(
            f"training stopped: {quantity} not finite at step {step:,}, "
            "accepted: finite numbers (a smaller learning_rate or smaller rewards may help)"
        )
        self.quantity, self.step, self.batch = quantity, step, batch


class Vitals(NamedTuple):
    """How a learner is."""

    parameters: Bool[Array, ""]
    """Whether they are finite."""
    optimiser: Bool[Array, ""]
    """Whether it is."""
    loss: Scalar
    """On a batch of the replay."""

    def trouble(self) -> str | None:
        """What is not finite any more, the worst first."""
        well = self._replace(loss=np.isfinite(self.loss))._asdict()
        return next((name for name, finite in well.items() if not finite), None)


def vitals_of(agent: Agent, config: Learning, run: Run) -> Vitals:
    """The state of a run's learner."""
    return Vitals(
        _all_finite(run.learner.params),
        _all_finite(run.learner.optimiser),
        steps.current_loss(agent, config, run),
    )


def _all_finite(tree: Any) -> Bool[Array, ""]:
    arrays = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(array)) for array in arrays]))


LossOn = Callable[[Run, Transition], Any]
"""The loss of a run's learner on a batch."""


def examine(config: Learning, run: Run, vitals: Vitals, record: Record, loss_on: LossOn) -> None:
    """Raise `UnhealthyError` where a run that has just made the recorded steps is not well."""
    end = int(run.step)
    first = end - len(record.reward)
    quantity, at = _first_trouble(record)
    if quantity is not None and at is not None:
        update = max(first + at - 1, 0)  # A bad thought comes of the update before it.
    elif end > config.learning_starts and (quantity := vitals.trouble()) is not None:
        update = end - 1
        if vitals.parameters:
            # Nothing has come of it yet: look for the batch that is too much.
            updates = range(max(first, config.learning_starts), end)
            too_much = (i for i in updates if not np.isfinite(loss_on(run, batch_of_update(config, run, i))))
            update = next(too_much, update)
    else:
        return
    raise UnhealthyError(quantity, update + 1, batch_of_update(config, run, update))


def _first_trouble(record: Record) -> tuple[str | None, int | None]:
    """What was not finite first, and at which of the recorded steps."""
    first: tuple[str | None, int | None] = (None, None)
    for name, words in THOUGHTS.items():
        values = np.asarray(getattr(record.choice, name))
        if np.all(np.isnan(values)) and name != "value":
            continue  # An agent without this uncertainty; in one that has it, the value is bad as well.
        (bad,) = np.nonzero(~np.isfinite(values))
        if len(bad) and (first[1] is None or bad[0] < first[1]):
            first = words, int(bad[0])
    return first


def batch_of_update(config: Learning, run: Run, step: int) -> Transition:
    """The batch that the update of a past step drew, as far as the replay still holds it."""
    then = run._replace(step=jnp.asarray(step, run.step.dtype))
    replay = run.replay._replace(added=jnp.asarray(step + 1, run.replay.added.dtype))
    return replays.sample(replay, steps.keys_of(then).sample, config.batch_size)
