"""What all agents share: their settings, the optimiser step, the target networks."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from surefoot.agents.objectives import NEUTRAL, Objective
from surefoot.architectures import Architecture
from surefoot.exploration import epsilon_greedy
from surefoot.losses import bellman_target
from surefoot.networks import is_trained
from surefoot.optimisers import resolve_optimiser
from surefoot.risk import greedy
from surefoot.settings import Settings, bounded, build, with_components
from surefoot.types import (
    Agent,
    Beliefs,
    ChooseKey,
    Learner,
    MakeNetwork,
    Policy,
    RandomKey,
    Scalar,
    Transition,
    key_of_step,
)


@dataclass(frozen=True, kw_only=True)
class AgentConfig(Settings):
    """Settings that every agent has; the defaults are those of the paper on MinAtar."""

    discount: float = bounded(0.99, at_least=0, at_most=1)
    """Discount of future rewards (gamma)."""
    learning_rate: float = bounded(1e-4, above=0)
    """Learning rate of the optimiser."""
    adam_epsilon: float = bounded(1e-8, above=0)
    """Epsilon of Adam, which keeps its divisions finite."""
    gain: float = bounded(2**0.5, above=0)
    """Gain of the orthogonal initial weights."""
    batch_size: int = bounded(32, at_least=1)
    """Transitions per update."""
    replay_capacity: int = bounded(100_000, at_least=1)
    """Transitions that the replay holds."""
    learning_starts: int = bounded(5_000, at_least=1)
    """Steps before the first update."""
    target_period: int = bounded(1_000, at_least=1)
    """Steps between copies of the network to the target network."""
    envs: int = bounded(1, at_least=1, at_most=10_000)
    """Environments that are played side by side; a step of each counts as one step."""
    update_period: int = bounded(1, at_least=1)
    """Steps per update; with more environments than this, several updates follow one another."""


class AgentKind(NamedTuple):
    """An entry of the registry of agents: all that the command, sweeps and the Python class need.

    - `class_name`: the name of its class in Python, such as `UADQN`.
    - `summary`: what it is, in one line.
    - `config`: its settings class, a frozen dataclass.
    - `make(config, architecture, actions, optimiser)`: the agent for this many actions.
    """

    class_name: str
    summary: str
    config: type[AgentConfig]
    make: Callable[[Any, Architecture, int, Any], Agent]

    def settings(self, **given: Any) -> Any:
        """The agent's settings with those of its components: the given ones, otherwise the defaults."""
        return build(with_components(self.config, given), given)


Loss = Callable[[PyTree, PyTree, PyTree, Transition, Any, RandomKey], Scalar]
"""From parameters, target networks, prior, batch, number of data and a key to a scalar."""


def build_agent(
    config: AgentConfig,
    *,
    init: Callable[[RandomKey], tuple[PyTree, PyTree]],
    loss: Loss,
    target: Callable[[PyTree], PyTree],
    beliefs: Callable[[PyTree, Array, RandomKey], Beliefs],
    explore: Policy,
    exploit: Policy,
    draw_key: ChooseKey = key_of_step,
    objective: Objective = NEUTRAL,
    optimiser: Any = None,
) -> Agent:
    """An agent from the functions in which agents differ.

    `init` draws parameters and prior, and `target` selects the parameters that target networks are copies of.
    """
    optimise = resolve_optimiser(optimiser, config.learning_rate, config.adam_epsilon)

    def init_learner(key: RandomKey) -> Learner:
        params, prior = init(key)
        trained = eqx.filter(params, is_trained(params))
        return Learner(params, copy_target(params), prior, optimise.init(trained))

    def copy_target(params: PyTree) -> PyTree:
        # Copy: a donated buffer may not appear twice in a state.
        return jax.tree.map(lambda leaf: jnp.copy(leaf) if eqx.is_array(leaf) else leaf, target(params))

    def update(learner: Learner, batch: Transition, data_count: Any, key: RandomKey) -> Learner:
        trained, fixed = eqx.partition(learner.params, is_trained(learner.params))
        gradients = jax.grad(
            lambda each: loss(eqx.combine(each, fixed), learner.target, learner.prior, batch, data_count, key)
        )(trained)
        updates, state = optimise.update(gradients, learner.optimiser, trained)
        params = eqx.combine(optax.apply_updates(trained, updates), fixed)
        return learner._replace(params=params, optimiser=state)

    def renew_target(learner: Learner) -> Learner:
        return learner._replace(target=copy_target(learner.params))

    return Agent(
        init=init_learner,
        observe=lambda learner, _: learner,
        update=update,
        loss=lambda learner, batch, data_count, key: loss(
            learner.params, learner.target, learner.prior, batch, data_count, key
        ),
        renew_target=renew_target,
        beliefs=beliefs,
        explore=explore,
        exploit=exploit,
        draw_key=draw_key,
        value=objective.value,
        has_budget=objective.has_budget,
    )


def build_value_agent(
    config: Any,
    network: MakeNetwork,
    *,
    loss: Callable[[PyTree, PyTree, Transition], Scalar],
    beliefs: Callable[[PyTree, Array], Beliefs],
    exploit: Policy | None = None,
    follow: Policy | None = None,
    objective: Objective = NEUTRAL,
    optimiser: Any = None,
) -> Agent:
    """An agent of one network that is its own target network, and explores by epsilon-greedy.

    `loss(params, target, batch)` and `beliefs(params, obs)` are what agents of this family differ in.
    `exploit` is greedy by default; `follow`, the policy of the steps that are not random, is `exploit`.
    """
    best = exploit or greedy(objective.acting)
    return build_agent(
        config,
        init=lambda key: (network(key), None),
        loss=lambda params, target, _prior, batch, _count, _key: loss(params, target, batch),
        target=lambda params: params,
        beliefs=lambda params, obs, _key: beliefs(params, obs),
        explore=epsilon_greedy.policy(epsilon_greedy.epsilon_schedule(config), follow or best),
        exploit=best,
        objective=objective,
        optimiser=optimiser,
    )


def quantile_targets(
    next_quantiles: Float[Array, "B A N"],
    batch: Transition,
    discount: float,
    actions: Int[Array, "B"] | None = None,
) -> Float[Array, "B N"]:
    """Samples of the Bellman target: a network's quantiles of the next action.

    It is the one that was chosen, or the one with the best mean by these quantiles themselves.
    """
    best = jnp.argmax(next_quantiles.mean(axis=-1), axis=-1) if actions is None else actions
    return bellman_target(batch.reward, batch.terminated, gather_actions(next_quantiles, best), discount)


@jax.custom_vjp
def gather_actions(values: Float[Array, "B A *rest"], actions: Any) -> Float[Array, "B *rest"]:
    """The values of each row's own action.

    A sum in which other actions are zeros, which XLA on CPU computes faster than it gathers. The gradient is
    scattered: as a choice between it and zeros, it would be computed again for every action.
    """
    is_own = jax.nn.one_hot(actions, values.shape[1], dtype=bool)
    is_own = jnp.expand_dims(is_own, range(2, values.ndim))
    return jnp.where(is_own, values, jnp.zeros_like(values)).sum(axis=1)


def _gather_forward(values: Any, actions: Any) -> Any:
    return gather_actions(values, actions), (values.shape[1], actions)


def _gather_backward(residuals: Any, cotangent: Any) -> Any:
    count, actions = residuals
    rows, *rest = cotangent.shape
    zeros = jnp.zeros((rows, count, *rest), cotangent.dtype)
    return zeros.at[jnp.arange(rows), actions].set(cotangent, unique_indices=True), None


gather_actions.defvjp(_gather_forward, _gather_backward)
