"""One training step, written once for both drivers.

A step is `choose_action`, the environment's response, and `store_and_learn`.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from surefoot import replay as replays
from surefoot.agents.base import AgentConfig
from surefoot.replay import Replay
from surefoot.training.records import ActionChoice, StepRecord
from surefoot.types import Agent, Learner, RandomKey, Scalar, Transition


class Episode(NamedTuple):
    """The episode under way."""

    key: RandomKey
    """The random key that policies use for the whole episode."""
    episode_return: Float[Array, ""]
    """Sum of its rewards so far."""
    length: Int[Array, ""]


class TrainState(NamedTuple):
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


LOSS_KEY, RESTART_KEY = len(StepKeys._fields), len(StepKeys._fields) + 1
"""Set the keys of the logged loss and of a restart apart from those of the step itself."""

DRAW_KEY = 1
"""Sets the key of an episode's posterior draw apart from the key of its policy."""


class EnvResponse(NamedTuple):
    """What an environment returned for an action, and the observation that the next action is chosen on."""

    obs: Shaped[Array, "*obs"]
    reward: Float[Array, ""]
    terminated: Bool[Array, ""]
    truncated: Bool[Array, ""]
    next_start_obs: Shaped[Array, "*obs"]
    """The first observation of a new episode if this one ended, otherwise `obs`."""


def init_state(agent: Agent, config: AgentConfig, key: RandomKey, obs: Array) -> TrainState:
    """The state before the first step."""
    learner_key, episode_key, run_key = jax.random.split(key, 3)
    reward = jnp.zeros((), float)
    example = Transition(obs, jnp.zeros((), jnp.int32), reward, jnp.zeros((), bool), obs)
    return TrainState(
        agent.observe(agent.init(learner_key), obs),
        replays.init(config.replay_capacity, example),
        obs,
        Episode(episode_key, reward, jnp.zeros((), jnp.int32)),
        jnp.zeros((), jnp.int32),
        run_key,
    )


def restart_episode(agent: Agent, state: TrainState, episode_key: RandomKey, obs: Array) -> TrainState:
    """The state at the first observation of a new episode; the episode under way is abandoned."""
    episode = state.episode
    fresh = Episode(episode_key, jnp.zeros_like(episode.episode_return), jnp.zeros_like(episode.length))
    return state._replace(learner=agent.observe(state.learner, obs), obs=obs, episode=fresh)


def restart_key(state: TrainState) -> RandomKey:
    """The key of a restart before the next step."""
    return jax.random.fold_in(jax.random.fold_in(state.key, state.step), RESTART_KEY)


def step_keys(state: TrainState) -> StepKeys:
    """The keys of the next step; they do not depend on how training is cut into calls."""
    return StepKeys(*jax.random.split(jax.random.fold_in(state.key, state.step), len(StepKeys._fields)))


def draw_key(agent: Agent, step_key: RandomKey, episode_key: RandomKey) -> RandomKey:
    """The key of the beliefs of a step; one of an episode is not the key that its policy uses."""
    return agent.draw_key(step_key, jax.random.fold_in(episode_key, DRAW_KEY))


def choose_action(agent: Agent, state: TrainState, keys: StepKeys) -> ActionChoice:
    """The action that the agent explores with."""
    beliefs = agent.beliefs(state.learner.params, state.obs, draw_key(agent, keys.beliefs, state.episode.key))
    action = agent.explore(beliefs, keys.policy, state.episode.key, state.step).astype(jnp.int32)
    unknown = jnp.full_like(beliefs.mean, jnp.nan)
    return ActionChoice(
        action,
        action != jnp.argmax(beliefs.mean).astype(jnp.int32),
        beliefs.mean[action],
        (unknown if beliefs.epistemic is None else beliefs.epistemic)[action],
        (unknown if beliefs.aleatoric is None else beliefs.aleatoric)[action],
    )


def store_and_learn(
    agent: Agent,
    config: AgentConfig,
    state: TrainState,
    keys: StepKeys,
    choice: ActionChoice,
    response: EnvResponse,
    learn: Any,
) -> tuple[TrainState, StepRecord]:
    """Add the transition to the replay, and make one update if `learn`.

    The update is a loop of one round or none: a conditional would copy all networks at every step.
    """
    transition = Transition(state.obs, choice.action, response.reward, response.terminated, response.obs)
    replay = replays.add(state.replay, transition)
    batch = replays.sample(replay, keys.sample, config.batch_size)
    data_count = replay.size.astype(float)
    learner = jax.lax.fori_loop(
        0,
        jnp.where(learn, 1, 0),
        lambda _, learner: agent.update(learner, batch, data_count, keys.update),
        agent.observe(state.learner, response.next_start_obs),
    )
    done = response.terminated | response.truncated
    episode_return = state.episode.episode_return + response.reward
    length = state.episode.length + 1
    fresh = Episode(keys.episode, jnp.zeros_like(episode_return), jnp.zeros_like(length))
    episode = tree_where(done, fresh, Episode(state.episode.key, episode_return, length))
    record = StepRecord(choice, response.reward, done, response.terminated, episode_return, length, info={})
    next_state = TrainState(learner, replay, response.next_start_obs, episode, state.step + 1, state.key)
    return next_state, record


def current_loss(agent: Agent, config: AgentConfig, state: TrainState) -> Scalar:
    """The loss on a batch that is sampled for the log alone."""
    key = jax.random.fold_in(jax.random.fold_in(state.key, state.step), LOSS_KEY)
    sample_key, loss_key = jax.random.split(key)
    batch = replays.sample(state.replay, sample_key, config.batch_size)
    return agent.loss(state.learner, batch, state.replay.size.astype(float), loss_key)


def tree_where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """One of two pytrees, as `jnp.where` for each leaf."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), if_true, if_false)
