"""Divergence: a run whose numbers become NaN or infinite is stopped before it replaces good checkpoints."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from surefoot import replay as replays
from surefoot.agents.base import AgentConfig
from surefoot.errors import UserError
from surefoot.training import step as steps
from surefoot.training.driver import round_up
from surefoot.training.records import StepRecord
from surefoot.training.step import TrainState
from surefoot.types import Learner, Transition

RECORDED = {
    "value": "value of the chosen action",
    "epistemic": "epistemic uncertainty",
    "aleatoric": "aleatoric uncertainty",
}
"""The quantities that are recorded for each action."""


class DivergenceError(UserError):
    """A quantity became NaN or infinite; the text says which, and at which step."""

    def __init__(self, quantity: str, step: int, batch: Transition) -> None:
        super().__init__(
            f"training stopped: {quantity} became NaN or infinite at step {step:,}, "
            "accepted: finite numbers (a smaller learning_rate or smaller rewards may help)"
        )
        self.quantity, self.step, self.batch = quantity, step, batch


class FiniteCheck(NamedTuple):
    """Whether a learner's numbers are finite."""

    parameters: bool
    """Whether all parameters are finite."""
    optimiser: bool
    """Whether all numbers of the optimiser are finite."""
    loss: float
    """The loss on a batch of the replay."""

    def first_failure(self) -> str | None:
        """What is not finite any more, the most serious first; None if all is."""
        finite = self._replace(loss=np.isfinite(self.loss))._asdict()
        return next((name for name, is_finite in finite.items() if not is_finite), None)


def check_finite(learner: Learner, loss: float) -> FiniteCheck:
    """Check the parameters and the optimiser of a learner, and its loss."""
    return FiniteCheck(_all_finite(learner.params), _all_finite(learner.optimiser), loss)


def _all_finite(tree: Any) -> bool:
    # In NumPy, which reads the arrays where they are: a program for them takes seconds to compile.
    arrays = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
    return all(np.isfinite(np.asarray(array)).all() for array in arrays)


LossOn = Callable[[TrainState, Transition], Any]
"""The loss of a learner on a batch."""


def require_finite(
    config: AgentConfig, state: TrainState, check: FiniteCheck, record: StepRecord, loss_on: LossOn
) -> None:
    """Raise `DivergenceError` if something became NaN or infinite in the steps that were just recorded."""
    end = int(state.step)
    first = end - len(record.reward)
    quantity, at = _first_in_record(record)
    if quantity is not None and at is not None:
        # The update before it made the belief what it is.
        update = max(first + at - at % config.envs - config.envs, 0)
    elif end > config.learning_starts and (quantity := check.first_failure()) is not None:
        update = end - config.envs
        if check.parameters:
            # The parameters are still finite: look for the first batch whose loss is not.
            updates = range(max(first, round_up(config.learning_starts, config.envs)), end, config.envs)
            culprits = (
                i for i in updates if not np.isfinite(loss_on(state, batch_of_update(config, state, i)))
            )
            update = next(culprits, update)
    else:
        return
    raise DivergenceError(quantity, update + config.envs, batch_of_update(config, state, update))


def _first_in_record(record: StepRecord) -> tuple[str | None, int | None]:
    """The quantity that was not finite first, and at which of the recorded steps."""
    first: tuple[str | None, int | None] = (None, None)
    for name, quantity in RECORDED.items():
        values = np.asarray(getattr(record.choice, name))
        if np.all(np.isnan(values)) and name != "value":
            continue  # An agent without this uncertainty; in one that has it, the value is NaN as well.
        (bad,) = np.nonzero(~np.isfinite(values))
        if len(bad) and (first[1] is None or bad[0] < first[1]):
            first = quantity, int(bad[0])
    return first


def batch_of_update(config: AgentConfig, state: TrainState, step: int) -> Transition:
    """What the updates of a past step drew, as far as the replay still holds it."""
    then = state._replace(step=jnp.asarray(step, state.step.dtype))
    replay = state.replay._replace(added=jnp.asarray(step + config.envs, state.replay.added.dtype))
    count = steps.max_updates(config) * config.batch_size
    return replays.sample(replay, steps.step_keys(then).sample, count)
