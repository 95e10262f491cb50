"""One training step, written once for both drivers.

A step is `choose_action`, the environment's response, and `store_and_learn`.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

from surefoot import replay as replays
from surefoot.agents.base import AgentConfig
from surefoot.errors import require
from surefoot.replay import Replay
from surefoot.training.records import ActionChoice, StepRecord
from surefoot.types import Agent, Learner, RandomKey, RandomKeys, Scalar, Transition


class Episode(NamedTuple):
    """The episode under way; with several environments, each field has an axis for them in front."""

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
    capacity = config.replay_capacity
    require("envs", config.envs, config.envs <= capacity, f"at most the replay_capacity of {capacity:,}")
    learner_key, episode_key, run_key = jax.random.split(key, 3)
    one = obs if config.envs == 1 else obs[0]
    example = Transition(one, jnp.zeros((), jnp.int32), jnp.zeros((), float), jnp.zeros((), bool), one)
    return TrainState(
        observe(agent, config, agent.init(learner_key), obs),
        replays.init(config.replay_capacity, example),
        obs,
        new_episode(config, episode_key),
        jnp.zeros((), jnp.int32),
        run_key,
    )


def for_each_env(config: AgentConfig, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one environment, for all that are played side by side."""
    return function if config.envs == 1 else jax.vmap(function)


def env_axis(config: AgentConfig) -> tuple[int, ...]:
    """The axis that arrays of several environments have in front; none for a single one."""
    return () if config.envs == 1 else (config.envs,)


def env_keys(config: AgentConfig, key: RandomKey) -> RandomKey | RandomKeys:
    """A key for each environment."""
    return key if config.envs == 1 else jax.random.split(key, config.envs)


def new_episode(config: AgentConfig, key: RandomKey) -> Episode:
    """An episode that begins, in each environment."""
    shape = env_axis(config)
    return Episode(env_keys(config, key), jnp.zeros(shape, float), jnp.zeros(shape, jnp.int32))


def observe(agent: Agent, config: AgentConfig, learner: Learner, obs: Array) -> Learner:
    """The learner after it has seen an observation of each environment."""
    if config.envs == 1:
        return agent.observe(learner, obs)
    for index in range(config.envs):
        learner = agent.observe(learner, obs[index])
    return learner


def restart_episode(
    agent: Agent, config: AgentConfig, state: TrainState, episode_key: RandomKey, obs: Array
) -> TrainState:
    """The state at the first observation of a new episode; the episode under way is abandoned."""
    learner = observe(agent, config, state.learner, obs)
    return state._replace(learner=learner, obs=obs, episode=new_episode(config, episode_key))


def restart_key(state: TrainState) -> RandomKey:
    """The key of a restart before the next step."""
    return jax.random.fold_in(jax.random.fold_in(state.key, state.step), RESTART_KEY)


def step_keys(state: TrainState) -> StepKeys:
    """The keys of the next step; they do not depend on how training is cut into calls."""
    return StepKeys(*jax.random.split(jax.random.fold_in(state.key, state.step), len(StepKeys._fields)))


def draw_key(agent: Agent, step_key: RandomKey, episode_key: RandomKey) -> RandomKey:
    """The key of the beliefs of a step; one of an episode is not the key that its policy uses."""
    return agent.draw_key(step_key, jax.random.fold_in(episode_key, DRAW_KEY))


def choose_action(agent: Agent, config: AgentConfig, state: TrainState, keys: StepKeys) -> ActionChoice:
    """The action that the agent explores with, in each environment."""

    def choose(obs: Array, episode_key: RandomKey, beliefs_key: RandomKey, key: RandomKey) -> ActionChoice:
        beliefs = agent.beliefs(state.learner.params, obs, draw_key(agent, beliefs_key, episode_key))
        action = agent.explore(beliefs, key, episode_key, state.step).astype(jnp.int32)
        unknown = jnp.full_like(beliefs.mean, jnp.nan)
        return ActionChoice(
            action,
            action != jnp.argmax(beliefs.mean).astype(jnp.int32),
            beliefs.mean[action],
            (unknown if beliefs.epistemic is None else beliefs.epistemic)[action],
            (unknown if beliefs.aleatoric is None else beliefs.aleatoric)[action],
        )

    keys_of_envs = env_keys(config, keys.beliefs), env_keys(config, keys.policy)
    return for_each_env(config, choose)(state.obs, state.episode.key, *keys_of_envs)


def store_and_learn(
    agent: Agent,
    config: AgentConfig,
    state: TrainState,
    keys: StepKeys,
    choice: ActionChoice,
    response: EnvResponse,
    learn: Any,
) -> tuple[TrainState, StepRecord]:
    """Add the transition of each environment to the replay, and make the updates that are due if `learn`.

    Updates are a loop, also if there is at most one: a conditional would copy all networks at every step.
    """
    transition = Transition(state.obs, choice.action, response.reward, response.terminated, response.obs)
    add = replays.add if config.envs == 1 else replays.add_batch
    replay = add(state.replay, transition)
    batches = replays.sample(replay, keys.sample, max_updates(config) * config.batch_size)
    data_count = replay.size.astype(float)

    def update(index: Any, learner: Learner) -> Learner:
        if max_updates(config) == 1:
            return agent.update(learner, batches, data_count, keys.update)
        batch = batch_number(config, batches, index)
        return agent.update(learner, batch, data_count, jax.random.fold_in(keys.update, index))

    seen = observe(agent, config, state.learner, response.next_start_obs)
    learner = jax.lax.fori_loop(0, jnp.where(learn, updates_due(config, state.step), 0), update, seen)
    done = response.terminated | response.truncated
    episode_return = state.episode.episode_return + response.reward
    length = state.episode.length + 1
    going_on = Episode(state.episode.key, episode_return, length)
    episode = tree_where(done, new_episode(config, keys.episode), going_on)
    record = StepRecord(choice, response.reward, done, response.terminated, episode_return, length, info={})
    step = state.step + config.envs
    return TrainState(learner, replay, response.next_start_obs, episode, step, state.key), record


def max_updates(config: AgentConfig) -> int:
    """Most updates after one step of all environments."""
    return -(-config.envs // config.update_period)


def updates_due(config: AgentConfig, step: Any) -> Any:
    """Updates after the step of all environments that begins after `step` steps."""
    if config.envs % config.update_period == 0:
        return config.envs // config.update_period
    return (step + config.envs) // config.update_period - step // config.update_period


def batch_number(config: AgentConfig, batches: Transition, index: Any) -> Transition:
    """One of several batches that were sampled at once."""
    start = index * config.batch_size
    return jax.tree.map(lambda leaf: jax.lax.dynamic_slice_in_dim(leaf, start, config.batch_size), batches)


def current_loss(agent: Agent, config: AgentConfig, state: TrainState) -> Scalar:
    """The loss on a batch that is sampled for the log alone."""
    key = jax.random.fold_in(jax.random.fold_in(state.key, state.step), LOSS_KEY)
    sample_key, loss_key = jax.random.split(key)
    batch = replays.sample(state.replay, sample_key, config.batch_size)
    return agent.loss(state.learner, batch, state.replay.size.astype(float), loss_key)


def tree_where(condition: Any, if_true: Any, if_false: Any) -> Any:
    """One of two pytrees, as `jnp.where` for each leaf."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), if_true, if_false)
