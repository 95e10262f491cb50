"""Epsilon-greedy: a random action with a probability that falls during training."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from surefoot.risk import greedy
from surefoot.settings import Settings, bounded
from surefoot.types import Action, Beliefs, ExplorerKind, Policy, RandomKey, Scalar

Schedule = Callable[[Any], Scalar]
"""From the number of a step to a probability."""


@dataclass(frozen=True, kw_only=True)
class Config(Settings):
    """The schedule of epsilon."""

    initial_epsilon: float = bounded(1.0, at_least=0, at_most=1)
    """Probability of a random action at step 0."""
    final_epsilon: float = bounded(0.03, at_least=0, at_most=1)
    """Probability of a random action from `final_epsilon_step` on."""
    final_epsilon_step: int = bounded(100_000, at_least=1)
    """Step at which the probability has fallen to `final_epsilon`."""


def epsilon_schedule(config: Any) -> Schedule:
    """1 until `learning_starts`, then the line that falls from step 0 on."""
    line = linear(config.initial_epsilon, config.final_epsilon, config.final_epsilon_step)
    return lambda step: jnp.where(step < config.learning_starts, 1.0, line(step))


def linear(start: float, end: float, steps: int) -> Schedule:
    """From `start` at step 0 to `end` at step `steps` in a straight line, then `end`."""
    return lambda step: start + (end - start) * jnp.clip(jnp.asarray(step, float) / steps, 0, 1)


def policy(schedule: Schedule, otherwise: Policy | None = None) -> Policy:
    """A uniformly random action with the schedule's probability, otherwise that of another policy."""
    exploit = otherwise or greedy()

    def act(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
        chance_key, action_key, exploit_key = jax.random.split(step_key, 3)
        random_action = jax.random.randint(action_key, (), 0, beliefs.mean.shape[0])
        explore = jax.random.uniform(chance_key) < schedule(step)
        return jnp.where(explore, random_action, exploit(beliefs, exploit_key, episode_key, step))

    return act


KIND = ExplorerKind(Config, lambda config, risk: policy(epsilon_schedule(config), greedy(risk)))
