"""The hosted driver: any Gymnasium environment, one call of a compiled program per step.

The program takes the environment's response, learns, and chooses the next action. It is the step of the
compiled driver, cut where the environment stands.
"""

import warnings
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from surefoot.agents.base import AgentConfig
from surefoot.envs.checked import CheckedEnv, CheckedStep, boolean_entries, stored_dtype
from surefoot.errors import FaultyEnvironmentError
from surefoot.jit import jit_for_speed, jit_for_startup
from surefoot.program_cache import cached_program
from surefoot.training import driver, records
from surefoot.training import step as steps
from surefoot.training.driver import AdvanceResult, Driver, Stop
from surefoot.training.episode_seeds import Stream, episode_seed
from surefoot.training.flat_state import flat_layout
from surefoot.training.records import MAX_RECORDS, ActionChoice, StepRecord
from surefoot.training.step import EnvResponse, TrainState
from surefoot.types import Agent, RandomKey


class PlayedEpisode(NamedTuple):
    """The episode under way: all that is needed to play it again."""

    number: int
    actions: list[int]
    checksum: int
    """Checksum of the observations so far."""


class HostedState(NamedTuple):
    """The state of training, the action that is taken next, and the episode under way."""

    train: TrainState
    choice: ActionChoice
    episode: PlayedEpisode


class Carry(NamedTuple):
    """What one step leaves to the next, on the device."""

    train: TrainState
    choice: ActionChoice
    records: StepRecord
    """Of the last steps; that of step i stands at i modulo the length."""


class HostedPrograms(NamedTuple):
    """What is compiled; it does not depend on the environment. A flat list of arrays holds a `Carry`."""

    init: Callable[..., tuple[TrainState, ActionChoice]]
    restart: Callable[..., tuple[TrainState, ActionChoice]]
    flatten: Callable[[TrainState, ActionChoice], list[Array]]
    unflatten: Callable[[list[Array]], tuple[TrainState, ActionChoice]]
    one_step: Callable[[list[Array], NDArray[np.uint8]], tuple[list[Array], Array]]
    renew_target: Callable[[list[Array]], list[Array]]
    records_of: Callable[[list[Array]], StepRecord]
    choice_shapes: ActionChoice


@cached_program
def _programs(agent: Agent, config: AgentConfig, shape: tuple[int, ...], dtype: Any) -> HostedPrograms:
    """The programs for one agent and observations of this shape and dtype."""

    def init(key: RandomKey, obs: Any) -> tuple[TrainState, ActionChoice]:
        _, run_key = jax.random.split(key)  # The compiled driver resets its environment with the first.
        state = steps.init_state(agent, config, run_key, obs)
        return state, steps.choose_action(agent, config, state, steps.step_keys(state))

    def restart(state: TrainState, obs: Any) -> tuple[TrainState, ActionChoice]:
        _, episode_key = jax.random.split(steps.restart_key(state))
        state = steps.restart_episode(agent, config, state, episode_key, obs)
        return state, steps.choose_action(agent, config, state, steps.step_keys(state))

    state_shapes, choice_shapes = jax.eval_shape(init, jax.random.key(0), jax.ShapeDtypeStruct(shape, dtype))

    def carry_of(state: TrainState, choice: ActionChoice) -> Carry:
        (_, number, length), flag = state_shapes.episode, choice_shapes.nongreedy
        record = StepRecord(choice_shapes, number, flag, flag, number, length, {})
        return Carry(state, choice, records.allocate(record))

    layout = flat_layout(jax.eval_shape(carry_of, state_shapes, choice_shapes))

    # Not donated: large arrays come out as they went in, which JAX does without a copy.
    @jit_for_startup
    def flatten(state: TrainState, choice: ActionChoice) -> list[Array]:
        return layout.flatten(carry_of(state, choice))

    @jit_for_startup
    def unflatten(flat: list[Array]) -> tuple[TrainState, ActionChoice]:
        state, choice, _ = layout.unflatten(flat)
        return state, choice

    @partial(jit_for_speed, donate_argnums=0)
    def one_step(flat: list[Array], packed: Array) -> tuple[list[Array], Array]:
        response = _unpacked(packed, _response_type(shape, dtype))
        state, choice, buffer = layout.unflatten(flat)
        learn, keys = state.step >= config.learning_starts, steps.step_keys(state)
        index = state.step % MAX_RECORDS
        state, record = steps.store_and_learn(agent, config, state, keys, choice, response, learn)
        choice = steps.choose_action(agent, config, state, steps.step_keys(state))
        carry = Carry(state, choice, records.write(buffer, index, record))
        return layout.flatten(carry), choice.action

    @partial(jit_for_startup, donate_argnums=0)
    def renew_target(flat: list[Array]) -> list[Array]:
        carry = layout.unflatten(flat)
        learner = agent.renew_target(carry.train.learner)
        return layout.flatten(carry._replace(train=carry.train._replace(learner=learner)))

    @jit_for_startup
    def records_of(flat: list[Array]) -> StepRecord:
        return layout.unflatten(flat).records

    return HostedPrograms(
        jit_for_startup(init),
        jit_for_startup(restart),
        flatten,
        unflatten,
        one_step,
        renew_target,
        records_of,
        choice_shapes,
    )


def make(agent: Agent, env: CheckedEnv, config: AgentConfig, seed: int) -> Driver:
    """A driver; the seeds of its episodes derive from `seed`."""
    space = env.observation_space
    shape, dtype = tuple(space.shape or ()), np.dtype(stored_dtype(space))
    programs, response_type = _programs(agent, config, shape, dtype), _response_type(shape, dtype)

    def reset(number: int) -> tuple[NDArray[Any], PlayedEpisode]:
        env.episode = number  # `reset` adds one: messages count episodes from 1.
        obs = env.reset(episode_seed(seed, Stream.TRAINING, number))
        return obs, PlayedEpisode(number, [], zlib.crc32(obs.data))

    def init(key: RandomKey) -> HostedState:
        obs, episode = reset(0)
        train, choice = programs.init(key, obs)
        return HostedState(train, choice, episode)

    def restart(state: HostedState) -> HostedState:
        obs, episode = reset(state.episode.number + 1)
        train, choice = programs.restart(state.train, obs)
        return HostedState(train, choice, episode)

    def play(action: int, episode: PlayedEpisode) -> tuple[CheckedStep, NDArray[Any], PlayedEpisode]:
        """Take an action; what followed, the observation to go on with, and the episode that it is of."""
        found = env.step(action)
        if found.terminated or found.truncated:
            return found, *reset(episode.number + 1)
        return found, found.obs, _extended(episode, action, found.obs)

    def advance(state: HostedState, count: int, stop: Stop = driver.never_stop) -> AdvanceResult:
        driver.require_steps(count, config)
        train, choice, episode = state
        now, action = int(train.step), int(choice.action)
        flat = programs.flatten(train, choice)
        end = now + count
        parts: list[StepRecord] = []
        error: BaseException | None = None
        stopped = False
        while now < end and not stopped:
            first, until = now, driver.next_boundary(now, end, config)
            infos: list[dict[str, Any]] = []
            while now < until and not stopped:
                try:
                    found, next_start_obs, episode = play(action, episode)
                except BaseException as raised:
                    # Whatever it is, what was learned before this step is returned with it.
                    error = raised
                    break
                flat, chosen = programs.one_step(flat, _packed(found, next_start_obs, response_type))
                action = chosen.item()
                infos.append(found.info)
                now += 1
                stopped = stop()
            if now > first:
                made = records.read(programs.records_of(flat), now - first, first)
                parts.append(made._replace(info=_events(infos)))
                if driver.renews_target(now, config):
                    flat = programs.renew_target(flat)
            stopped = stopped or error is not None
        state = HostedState(*programs.unflatten(flat), episode)
        return AdvanceResult(state, _concatenate(parts) if parts else None, error)

    def reopen(state: HostedState) -> HostedState:
        """Play the episode again; where it does not come out the same, begin a new one."""
        try:
            _, episode = reset(state.episode.number)
            for action in state.episode.actions:
                episode = _extended(episode, action, env.step(action).obs)
            is_same = episode.checksum == state.episode.checksum
        except FaultyEnvironmentError:
            is_same = False
        if is_same:
            return state
        warnings.warn(
            f"{env.name}: episode {state.episode.number} came out differently when it was played again "
            "(its randomness does not follow the seed); a new episode begins",
            stacklevel=2,
        )
        return restart(state)

    return Driver(init, restart, advance, reopen, lambda: programs.choice_shapes)


def _extended(episode: PlayedEpisode, action: int, obs: NDArray[Any]) -> PlayedEpisode:
    # The list grows in place: an episode may be long.
    episode.actions.append(action)
    return episode._replace(checksum=zlib.crc32(obs.data, episode.checksum))


def _response_type(shape: tuple[int, ...], dtype: Any) -> np.dtype[Any]:
    """An environment's response as one record: a call takes microseconds for each array that it is given."""
    number = jax.dtypes.canonicalize_dtype(float)
    types = (dtype, shape), (number, ()), (bool, ()), (bool, ()), (dtype, shape)
    return np.dtype([(name, *each) for name, each in zip(EnvResponse._fields, types, strict=True)])


def _packed(found: CheckedStep, next_start_obs: NDArray[Any], response_type: Any) -> NDArray[np.uint8]:
    """The bytes of a response."""
    values = found.obs, found.reward, found.terminated, found.truncated, next_start_obs
    return np.array([values], response_type).view(np.uint8)


def _unpacked(packed: Array, response_type: np.dtype[Any]) -> EnvResponse:
    """A response from its bytes."""
    fields: Any = response_type.fields

    def field(name: str) -> Array:
        kind, start = fields[name][:2]
        data, dtype = packed[start : start + kind.itemsize], np.dtype(kind.base)
        if dtype.kind == "b":
            return (data != 0).reshape(kind.shape)
        return jax.lax.bitcast_convert_type(data.reshape(*kind.shape, *_bytes_axis(dtype)), dtype)

    return EnvResponse(*map(field, EnvResponse._fields))


def _bytes_axis(dtype: np.dtype[Any]) -> tuple[int, ...]:
    """The axis for the bytes of one number, if there are several."""
    return (dtype.itemsize,) if dtype.itemsize > 1 else ()


def _events(infos: list[dict[str, Any]]) -> dict[str, NDArray[np.bool_]]:
    """The boolean entries of an environment's `info`, for each step."""
    events = list(map(boolean_entries, infos))
    names = sorted({name for each in events for name in each})
    return {name: np.array([each.get(name, False) for each in events]) for name in names}


def _concatenate(parts: list[StepRecord]) -> StepRecord:
    """Records of consecutive steps as one; an event that a part does not mention did not happen in it."""
    names = sorted({name for record in parts for name in record.info})
    padded = [
        record._replace(
            info={name: record.info.get(name, np.zeros(len(record.reward), bool)) for name in names}
        )
        for record in parts
    ]
    return records.concatenate(padded)
