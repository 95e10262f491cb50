"""What all agents share: settings of learning, the optimiser step, targets, exploration by chance."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from surefoot.losses import bellman_target
from surefoot.optimisers import adam
from surefoot.policies import Schedule, after_random_start, linear
from surefoot.types import (
    Agent,
    Beliefs,
    Learner,
    Policy,
    RandomKey,
    Scalar,
    Transition,
    UserError,
)


@dataclass(frozen=True, kw_only=True)
class Learning:
    """Settings that every agent has; the defaults are those of the paper on MinAtar."""

    discount: float = 0.99
    """Discount of future rewards (gamma)."""
    learning_rate: float = 1e-4
    """Adam's."""
    adam_epsilon: float = 1e-8
    """Adam's."""
    gain: float = 2**0.5
    """Gain of the orthogonal initial weights."""
    batch_size: int = 32
    """Transitions per update."""
    replay_capacity: int = 100_000
    """Transitions kept."""
    learning_starts: int = 5_000
    """Steps before the first update."""
    target_period: int = 1_000
    """Steps between renewals of the target network."""

    def __post_init__(self) -> None:
        """Validate."""
        accept("discount", self.discount, 0 <= self.discount <= 1, "from 0 to 1")
        for name in ("learning_rate", "adam_epsilon", "gain"):
            accept(name, getattr(self, name), getattr(self, name) > 0, "above 0")
        for name in ("batch_size", "replay_capacity", "learning_starts", "target_period"):
            accept(name, getattr(self, name), getattr(self, name) >= 1, "from 1")


@dataclass(frozen=True, kw_only=True)
class ChanceLearning(Learning):
    """Settings of the agents that explore by chance (epsilon-greedy)."""

    initial_epsilon: float = 1.0
    """Probability of a random action at step 0."""
    final_epsilon: float = 0.03
    """Probability of a random action in the end."""
    final_epsilon_step: int = 100_000
    """Step at which it is reached."""

    def __post_init__(self) -> None:
        """Validate."""
        super().__post_init__()
        for name in ("initial_epsilon", "final_epsilon"):
            accept(name, getattr(self, name), 0 <= getattr(self, name) <= 1, "from 0 to 1")
        accept("final_epsilon_step", self.final_epsilon_step, self.final_epsilon_step >= 1, "from 1")


def accept(name: str, value: object, accepted: bool, what: str) -> None:
    """Refuse a setting, naming it, its value and what is accepted."""
    if not accepted:
        raise UserError(f"{name}: got {value}, accepted: numbers {what}")


def epsilon_schedule(config: ChanceLearning) -> Schedule:
    """Pure chance until learning starts; the line falls from step 0 all the same."""
    line = linear(config.initial_epsilon, config.final_epsilon, config.final_epsilon_step)
    return after_random_start(line, config.learning_starts)


Loss = Callable[[PyTree, PyTree, PyTree, Transition, Any, RandomKey], Scalar]
"""Of parameters, targets' networks, prior, batch, number of data and a key."""


def assemble(
    config: Learning,
    *,
    init: Callable[[RandomKey], tuple[PyTree, PyTree]],
    loss: Loss,
    target: Callable[[PyTree], PyTree],
    beliefs: Callable[[PyTree, Array, RandomKey], Beliefs],
    explore: Policy,
    exploit: Policy,
) -> Agent:
    """An agent from what sets it apart.

    `init` draws parameters and prior, and `target` says which of the parameters targets come from.
    """
    optimiser = adam(config.learning_rate, epsilon=config.adam_epsilon)

    def start(key: RandomKey) -> Learner:
        params, prior = init(key)
        trained = eqx.filter(params, eqx.is_inexact_array)
        return Learner(params, fresh_target(params), prior, optimiser.init(trained))

    def fresh_target(params: PyTree) -> PyTree:
        # Copied: a buffer that stands in a state twice could not be given away for reuse.
        return jax.tree.map(lambda leaf: jnp.copy(leaf) if eqx.is_array(leaf) else leaf, target(params))

    def update(learner: Learner, batch: Transition, data_count: Any, key: RandomKey) -> Learner:
        trained, fixed = eqx.partition(learner.params, eqx.is_inexact_array)
        gradients = jax.grad(
            lambda each: loss(eqx.combine(each, fixed), learner.target, learner.prior, batch, data_count, key)
        )(trained)
        updates, state = optimiser.update(gradients, learner.optimiser, trained)
        params = eqx.combine(optax.apply_updates(trained, updates), fixed)
        return learner._replace(params=params, optimiser=state)

    def renew_target(learner: Learner) -> Learner:
        return learner._replace(target=fresh_target(learner.params))

    return Agent(
        init=start,
        observe=lambda learner, _: learner,
        update=update,
        loss=lambda learner, batch, data_count, key: loss(
            learner.params, learner.target, learner.prior, batch, data_count, key
        ),
        renew_target=renew_target,
        beliefs=beliefs,
        explore=explore,
        exploit=exploit,
    )


def quantile_targets(target: Any, batch: Transition, discount: float) -> Float[Array, "B N"]:
    """Samples of the Bellman target: the risk-neutral best action's quantiles, in every agent."""
    following = jax.vmap(target)(batch.next_obs)  # [B, A, N]
    best = jnp.argmax(following.mean(axis=-1), axis=-1)
    return bellman_target(batch.reward, batch.terminated, of_actions(following, best), discount)


def of_actions(values: Float[Array, "B A *rest"], actions: Any) -> Float[Array, "B *rest"]:
    """The part of each row that belongs to its action."""
    return jax.vmap(lambda row, action: row[action])(values, actions)
