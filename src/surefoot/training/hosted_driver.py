"""The hosted driver: any Gymnasium environment, played by Python while a compiled program learns.

The program makes many steps, as that of the compiled driver does, and asks for the environment's response to
each of its actions.
"""

import warnings
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool
from numpy.typing import NDArray

from surefoot.agents.base import AgentConfig
from surefoot.envs.checked import CheckedEnv, CheckedStep, boolean_entries, stored_dtype
from surefoot.errors import FaultyEnvironmentError
from surefoot.jit import compiled_once, jit_for_speed, jit_for_startup
from surefoot.program_cache import cached_program
from surefoot.training import driver, host_call, records
from surefoot.training import step as steps
from surefoot.training.driver import AdvanceResult, Driver, Stop
from surefoot.training.episode_seeds import Stream, episode_seed
from surefoot.training.records import ActionChoice, StepRecord
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


class HostedPrograms(NamedTuple):
    """What is compiled; it does not depend on the environment."""

    init: Callable[..., tuple[TrainState, ActionChoice]]
    restart: Callable[..., tuple[TrainState, ActionChoice]]
    many_steps: Callable[..., Callable[..., tuple[TrainState, ActionChoice, StepRecord]]]
    """From arguments like these the compiled program, which goes from a state, its choice and the response to
    it on until the host answers that this was the last step."""
    renew_target: Callable[[TrainState], TrainState]
    choice_shapes: ActionChoice


@cached_program
def _programs(agent: Agent, config: AgentConfig, shape: tuple[int, ...], dtype: Any) -> HostedPrograms:
    """The programs for one agent and observations of this shape and dtype."""
    answer_type = _answer_type(shape, dtype)

    def init(key: RandomKey, obs: Any) -> tuple[TrainState, ActionChoice]:
        _, run_key = jax.random.split(key)  # The compiled driver resets its environment with the first.
        state = steps.init_state(agent, config, run_key, obs)
        return state, steps.choose_action(agent, config, state, steps.step_keys(state))

    def restart(state: TrainState, obs: Any) -> tuple[TrainState, ActionChoice]:
        _, episode_key = jax.random.split(steps.restart_key(state))
        state = steps.restart_episode(agent, config, state, episode_key, obs)
        return state, steps.choose_action(agent, config, state, steps.step_keys(state))

    state_shapes, choice_shapes = jax.eval_shape(init, jax.random.key(0), jax.ShapeDtypeStruct(shape, dtype))

    def many_steps(
        state: TrainState, choice: ActionChoice, packed: Array, learn: Any, asker: Any
    ) -> tuple[TrainState, ActionChoice, StepRecord]:
        def body(carry: Any) -> Any:
            state, choice, buffer, index, answer = carry
            keys = steps.step_keys(state)
            state, record = steps.store_and_learn(agent, config, state, keys, choice, answer.response, learn)
            choice = steps.choose_action(agent, config, state, steps.step_keys(state))
            packed = host_call.ask(asker, choice.action, answer_type.itemsize)
            return (
                state,
                choice,
                records.write(buffer, index, record),
                index + 1,
                _unpacked(packed, answer_type),
            )

        (_, number, length), flag = state_shapes.episode, choice_shapes.nongreedy
        buffer = records.allocate(StepRecord(choice_shapes, number, flag, flag, number, length, {}))
        carry = state, choice, buffer, jnp.zeros((), jnp.int32), _unpacked(packed, answer_type)
        state, choice, buffer, _, _ = jax.lax.while_loop(lambda carry: carry[-1].is_step, body, carry)
        return state, choice, buffer

    def with_new_target(state: TrainState) -> TrainState:
        return state._replace(learner=agent.renew_target(state.learner))

    return HostedPrograms(
        jit_for_startup(init),
        jit_for_startup(restart),
        compiled_once(jit_for_speed(many_steps, donate_argnums=(0, 1))),
        jit_for_startup(with_new_target, donate_argnums=0),
        choice_shapes,
    )


def make(agent: Agent, env: CheckedEnv, config: AgentConfig, seed: int) -> Driver:
    """A driver; the seeds of its episodes derive from `seed`."""
    space = env.observation_space
    shape, dtype = tuple(space.shape or ()), np.dtype(stored_dtype(space))
    programs, answer_type = _programs(agent, config, shape, dtype), _answer_type(shape, dtype)
    answer_of, no_answer = _packer(answer_type), bytes(answer_type.itemsize)

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
        now = int(state.train.step)
        end = now + count
        parts: list[StepRecord] = []
        error: BaseException | None = None
        stopped = False
        while now < end and error is None and not stopped:
            limit = driver.next_boundary(now, end, config) - now
            (state, record, error), stopped = run_program(state, limit, now >= config.learning_starts, stop)
            if record is not None:
                parts.append(record)
                now += len(record.reward)
                if driver.renews_target(now, config):
                    state = state._replace(train=programs.renew_target(state.train))
        return AdvanceResult(state, _concatenate(parts) if parts else None, error)

    def run_program(state: HostedState, limit: int, learn: bool, stop: Stop) -> tuple[AdvanceResult, bool]:
        """At most `limit` steps in one call of the program; also whether it was stopped."""
        train, choice, episode = state
        infos: list[dict[str, Any]] = []
        stopped = False

        def response_to(action: int) -> bytes:
            nonlocal episode
            found, next_start_obs, episode = play(action, episode)
            infos.append(found.info)
            return answer_of(found, next_start_obs)

        def answer(action: int) -> bytes:
            nonlocal stopped
            stopped = stop()
            return no_answer if stopped or len(infos) == limit else response_to(action)

        try:
            first = np.frombuffer(response_to(int(choice.action)), np.uint8)
        except BaseException as raised:
            # Whatever it is, what was learned before this step is returned with it.
            return AdvanceResult(state, None, raised), stopped
        given = train, choice, first, learn
        program = partial(programs.many_steps(*given, np.int32(0)), *given)
        (train, choice, buffer), error = host_call.serve(program, answer, no_answer)
        record = records.read(buffer, len(infos))._replace(info=_events(infos))
        return AdvanceResult(HostedState(train, choice, episode), record, error), stopped

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


class Answer(NamedTuple):
    """What a program learns when it asks for the response to an action."""

    response: EnvResponse
    is_step: Bool[Array, ""]
    """Whether the action was taken; if not, the rest means nothing, and the program ends."""


def _answer_type(shape: tuple[int, ...], dtype: Any) -> np.dtype[Any]:
    """An answer as one record, since it crosses over to the program as bytes."""
    number = jax.dtypes.canonicalize_dtype(float)
    types = (dtype, shape), (number, ()), (bool, ()), (bool, ()), (dtype, shape)
    fields = [(name, *each) for name, each in zip(EnvResponse._fields, types, strict=True)]
    return np.dtype([*fields, ("is_step", bool)])


def _packer(answer_type: np.dtype[Any]) -> Callable[[CheckedStep, NDArray[Any]], bytes]:
    """A function that gives a response as the bytes of an answer."""
    record = np.zeros(1, answer_type)
    record["is_step"] = True
    obs, reward, terminated, truncated, next_obs = (record[name] for name in EnvResponse._fields)

    def pack(found: CheckedStep, next_start_obs: NDArray[Any]) -> bytes:
        obs[0], reward[0], terminated[0], truncated[0], _ = found
        next_obs[0] = next_start_obs
        return record.tobytes()

    return pack


def _unpacked(packed: Array, answer_type: np.dtype[Any]) -> Answer:
    """An answer from its bytes."""
    fields: Any = answer_type.fields

    def field(name: str) -> Array:
        kind, start = fields[name][:2]
        data, dtype = packed[start : start + kind.itemsize], np.dtype(kind.base)
        if dtype.kind == "b":
            return (data != 0).reshape(kind.shape)
        return jax.lax.bitcast_convert_type(data.reshape(*kind.shape, *_bytes_axis(dtype)), dtype)

    return Answer(EnvResponse(*map(field, EnvResponse._fields)), field("is_step"))


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
