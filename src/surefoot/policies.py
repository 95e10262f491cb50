"""Policies: from beliefs to an action. They see nothing else of an agent."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from surefoot.types import Action, Beliefs, Policy, RandomKey, Scalar, UserError

Schedule = Callable[[Any], Scalar]


def linear(start: float, end: float, steps: int) -> Schedule:
    """From `start` at step 0 to `end` at step `steps` in a straight line, then `end`."""
    return lambda step: start + (end - start) * jnp.clip(jnp.asarray(step, float) / steps, 0, 1)


def after_random_start(schedule: Schedule, steps: int) -> Schedule:
    """Pure chance before step `steps`, the schedule from there on."""
    return lambda step: jnp.where(step < steps, 1.0, schedule(step))


def greedy(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
    """The action with the highest mean."""
    del step_key, episode_key, step
    return jnp.argmax(beliefs.mean)


def epsilon_greedy(schedule: Schedule, otherwise: Policy = greedy) -> Policy:
    """Any action at all with the schedule's probability, otherwise another policy's."""

    def policy(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
        chance_key, action_key, other_key = jax.random.split(step_key, 3)
        anything = jax.random.randint(action_key, (), 0, beliefs.mean.shape[0])
        explore = jax.random.uniform(chance_key) < schedule(step)
        return jnp.where(explore, anything, otherwise(beliefs, other_key, episode_key, step))

    return policy


def risk_averse(risk_aversion: Any) -> Policy:
    """The highest mean less risk aversion (lambda) times the aleatoric standard deviation."""

    def policy(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
        del step_key, episode_key, step
        return jnp.argmax(risk_adjusted(beliefs, risk_aversion))

    return policy


def risk_adjusted(beliefs: Beliefs, risk_aversion: Any) -> Any:
    """Mu - lambda sigma_aleatoric of each action (Algorithm 1)."""
    if isinstance(risk_aversion, int | float) and risk_aversion == 0:
        return beliefs.mean
    if beliefs.aleatoric is None:
        raise UserError("risk_aversion: this agent has no aleatoric uncertainty to avoid")
    return beliefs.mean - risk_aversion * beliefs.aleatoric


def of_step(step_key: RandomKey, episode_key: RandomKey) -> RandomKey:
    """Thompson samples are drawn anew at each step (Algorithm 1)."""
    del episode_key
    return step_key


def of_episode(step_key: RandomKey, episode_key: RandomKey) -> RandomKey:
    """One normal draw per action serves a whole episode: exploration with a plan."""
    del step_key
    return episode_key


NOISE = {"step": of_step, "episode": of_episode}


def thompson(
    exploration: float,
    risk_aversion: float = 0.0,
    noise: Callable[[RandomKey, RandomKey], RandomKey] = of_step,
) -> Policy:
    """The best of samples from N(mu - lambda sigma_aleatoric, beta sigma_epistemic^2) (Algorithm 1).

    `exploration` is beta. Departure: the released code multiplies the standard deviation by its factor,
    and so the variance by its square.
    """

    def policy(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
        del step
        if beliefs.epistemic is None:
            raise ValueError("exploration: this agent has no epistemic uncertainty to sample from")
        mean = risk_adjusted(beliefs, risk_aversion)
        draws = jax.random.normal(noise(step_key, episode_key), mean.shape)
        return jnp.argmax(mean + jnp.sqrt(exploration) * beliefs.epistemic * draws)

    return policy


def one_member(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
    """The best action by one member of the ensemble, the same one for a whole episode."""
    del step_key, step
    if beliefs.members is None:
        raise ValueError("members: this agent has no ensemble to draw from")
    member = jax.random.randint(episode_key, (), 0, beliefs.members.shape[0])
    return jnp.argmax(beliefs.members[member])


def vote(beliefs: Beliefs, step_key: RandomKey, episode_key: RandomKey, step: Any) -> Action:
    """The action that most members of the ensemble think best; the first of several."""
    del step_key, episode_key, step
    if beliefs.members is None:
        raise ValueError("members: this agent has no ensemble to ask")
    choices = jnp.argmax(beliefs.members, axis=-1)
    return jnp.argmax(jnp.bincount(choices, length=beliefs.members.shape[-1]))
