"""One step of training, for an environment in the same program or outside of it.

A step is `choose` (an action), the environment's answer, and `absorb` (remember it and learn).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from surefoot import replay as replays
from surefoot.agents.base import Learning
from surefoot.replay import Replay
from surefoot.types import Action, Agent, Learner, RandomKey, Scalar, Transition


class Episode(NamedTuple):
    """The episode under way."""

    key: RandomKey
    """Chance that lasts for the whole episode."""
    gain: Float[Array, ""]
    """Rewards so far."""
    length: Int[Array, ""]


class Run(NamedTuple):
    """Everything that training needs to go on, as one pytree."""

    learner: Learner
    replay: Replay
    obs: Shaped[Array, "*obs"]
    episode: Episode
    step: Int[Array, ""]
    key: RandomKey


class StepKeys(NamedTuple):
    """The random keys of one step, one for each use."""

    beliefs: RandomKey
    policy: RandomKey
    environment: RandomKey
    reset: RandomKey
    sample: RandomKey
    update: RandomKey
    episode: RandomKey


class Choice(NamedTuple):
    """An action and what the agent thought of it."""

    action: Action
    nongreedy: Bool[Array, ""]
    """Whether it differs from the action with the highest mean."""
    value: Float[Array, ""]
    """Its mean."""
    epistemic: Float[Array, ""]
    """Its epistemic standard deviation; NaN for an agent that has none."""
    aleatoric: Float[Array, ""]


class Answer(NamedTuple):
    """What an environment answered, and the observation with which to go on."""

    obs: Shaped[Array, "*obs"]
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    onward: Shaped[Array, "*obs"]
    """The first observation of a new episode where this one ended, otherwise `obs`."""


class Record(NamedTuple):
    """What one step leaves behind to be looked at."""

    choice: Choice
    reward: Float[Array, ""]
    over: Bool[Array, ""]
    """Whether the episode ended."""
    terminated: Bool[Array, ""]
    """Whether it ended by itself, not by an outside time limit."""
    gain: Float[Array, ""]
    """Rewards of the episode so far."""
    length: Int[Array, ""]
    info: dict[str, Array]


def start(agent: Agent, config: Learning, key: RandomKey, obs: Array) -> Run:
    """A run before its first step."""
    learner_key, episode_key, run_key = jax.random.split(key, 3)
    reward = jnp.zeros((), float)
    example = Transition(obs, jnp.zeros((), jnp.int32), reward, jnp.zeros((), bool), obs)
    return Run(
        agent.observe(agent.init(learner_key), obs),
        replays.init(config.replay_capacity, example),
        obs,
        Episode(episode_key, reward, jnp.zeros((), jnp.int32)),
        jnp.zeros((), jnp.int32),
        run_key,
    )


def restart(agent: Agent, run: Run, episode_key: RandomKey, obs: Array) -> Run:
    """The same run at the first observation of a new episode; the one under way is left."""
    begun = Episode(episode_key, jnp.zeros_like(run.episode.gain), jnp.zeros_like(run.episode.length))
    return run._replace(learner=agent.observe(run.learner, obs), obs=obs, episode=begun)


def restart_key(run: Run) -> RandomKey:
    """Chance for a restart before the step to come, apart from all that the step itself uses."""
    return jax.random.fold_in(jax.random.fold_in(run.key, run.step), len(StepKeys._fields))


def keys_of(run: Run) -> StepKeys:
    """Fresh keys for the step to come, the same however a run is cut into pieces."""
    return StepKeys(*jax.random.split(jax.random.fold_in(run.key, run.step), len(StepKeys._fields)))


def choose(agent: Agent, run: Run, keys: StepKeys) -> Choice:
    """The action that the agent explores with."""
    beliefs = agent.beliefs(run.learner.params, run.obs, keys.beliefs)
    action = agent.explore(beliefs, keys.policy, run.episode.key, run.step).astype(jnp.int32)
    nothing = jnp.full_like(beliefs.mean, jnp.nan)
    return Choice(
        action,
        action != jnp.argmax(beliefs.mean).astype(jnp.int32),
        beliefs.mean[action],
        (nothing if beliefs.epistemic is None else beliefs.epistemic)[action],
        (nothing if beliefs.aleatoric is None else beliefs.aleatoric)[action],
    )


def absorb(
    agent: Agent, config: Learning, run: Run, keys: StepKeys, choice: Choice, answer: Answer, learn: Any
) -> tuple[Run, Record]:
    """Remember what happened, learn from a batch if it is time to, and go on to the next observation.

    Learning is a loop of one round or none: a conditional would copy all networks at every step.
    """
    transition = Transition(run.obs, choice.action, answer.reward, answer.terminated, answer.obs)
    replay = replays.add(run.replay, transition)
    batch = replays.sample(replay, keys.sample, config.batch_size)
    data_count = replay.size.astype(float)
    learner = jax.lax.fori_loop(
        0,
        jnp.where(learn, 1, 0),
        lambda _, learner: agent.update(learner, batch, data_count, keys.update),
        agent.observe(run.learner, answer.onward),
    )
    over = answer.terminated | answer.truncated
    gain, length = run.episode.gain + answer.reward, run.episode.length + 1
    begun = Episode(keys.episode, jnp.zeros_like(gain), jnp.zeros_like(length))
    episode = select(over, begun, Episode(run.episode.key, gain, length))
    record = Record(choice, answer.reward, over, answer.terminated, gain, length, {})
    return Run(learner, replay, answer.onward, episode, run.step + 1, run.key), record


def current_loss(agent: Agent, config: Learning, run: Run) -> Scalar:
    """The loss on a batch of its own, drawn for the log."""
    sample_key, loss_key = jax.random.split(restart_key(run))
    batch = replays.sample(run.replay, sample_key, config.batch_size)
    return agent.loss(run.learner, batch, run.replay.size.astype(float), loss_key)


def select(condition: Any, yes: Any, no: Any) -> Any:
    """One of two trees."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)
