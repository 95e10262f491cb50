"""The hosted driver: any Gymnasium environment, one call into a compiled program per step.

The program takes the environment's answer, learns, and chooses the next action: the step of the compiled
driver, cut where the environment stands.
"""

import warnings
import zlib
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array
from numpy.typing import NDArray

from surefoot.agents.base import Learning
from surefoot.compiling import to_run_fast, to_start_fast
from surefoot.envs.hosting import Checked, CheckedEnvironment, stored_dtype
from surefoot.training import driver
from surefoot.training import step as steps
from surefoot.training.driver import Advanced, Driver, Stop
from surefoot.training.packing import Packing, packing_of
from surefoot.training.seeds import Stream, episode_seed
from surefoot.training.step import Answer, Choice, Record, Run
from surefoot.types import Agent, FaultyEnvironmentError, RandomKey


class Playing(NamedTuple):
    """The episode under way: all that is needed to play it again."""

    number: int
    actions: list[int]
    trace: int
    """Checksum of the observations so far."""


class HostedRun(NamedTuple):
    """A run, the action that it takes next, and the episode outside."""

    run: Run
    choice: Choice
    playing: Playing


class Programs(NamedTuple):
    """What is compiled, whatever the environment outside."""

    begin: Callable[..., tuple[Run, Choice]]
    begin_again: Callable[..., tuple[Run, Choice]]
    one_step: Callable[..., tuple[list[Array], Choice, Record]]
    renew_target: Callable[[list[Array]], list[Array]]
    empty_room: Callable[[], Record]
    packing: Packing
    choice_shapes: Choice


@lru_cache(maxsize=driver.KEPT)
def _programs(agent: Agent, config: Learning, shape: tuple[int, ...], dtype: Any, precision: Any) -> Programs:
    """The same programs for the same agent and observations, in this precision."""
    del precision

    def begin(key: RandomKey, obs: Any) -> tuple[Run, Choice]:
        _, run_key = jax.random.split(key)  # As the compiled driver, which resets with the first.
        run = steps.start(agent, config, run_key, obs)
        return run, steps.choose(agent, run, steps.keys_of(run))

    def begin_again(run: Run, obs: Any) -> tuple[Run, Choice]:
        _, episode_key = jax.random.split(steps.restart_key(run))
        run = steps.restart(agent, run, episode_key, obs)
        return run, steps.choose(agent, run, steps.keys_of(run))

    a_run, a_choice = jax.eval_shape(begin, jax.random.key(0), jax.ShapeDtypeStruct(shape, dtype))
    packing = packing_of(a_run)
    to_list, to_run = packing

    @partial(to_run_fast, donate_argnums=(0, 2))
    def one_step(
        packed: list[Array], choice: Choice, room: Record, i: Any, answer: Answer
    ) -> tuple[list[Array], Choice, Record]:
        run = to_run(packed)
        learn = run.step >= config.learning_starts
        run, record = steps.absorb(agent, config, run, steps.keys_of(run), choice, answer, learn)
        return to_list(run), steps.choose(agent, run, steps.keys_of(run)), driver.write(room, i, record)

    @partial(to_start_fast, donate_argnums=0)
    def renew_target(packed: list[Array]) -> list[Array]:
        run = to_run(packed)
        return to_list(run._replace(learner=agent.renew_target(run.learner)))

    @to_start_fast
    def empty_room() -> Record:
        (_, gain, length), ended = a_run.episode, a_choice.nongreedy
        return driver.room_for(Record(a_choice, gain, ended, ended, gain, length, {}))

    return Programs(
        to_start_fast(begin),
        to_start_fast(begin_again),
        one_step,
        renew_target,
        empty_room,
        packing,
        a_choice,
    )


def make(agent: Agent, environment: CheckedEnvironment, config: Learning, seed: int) -> Driver:
    """A driver of one run; `seed` is where the seeds of its episodes come from."""
    space = environment.observation_space
    shape, dtype = tuple(space.shape or ()), np.dtype(stored_dtype(space))
    programs = _programs(agent, config, shape, dtype, jax.dtypes.canonicalize_dtype(float))
    to_list, to_run = programs.packing

    def reset(number: int) -> tuple[NDArray[Any], Playing]:
        environment.episode = number  # One less than it will be: it counts from 1.
        obs = environment.reset(episode_seed(seed, Stream.TRAINING, number))
        return obs, Playing(number, [], zlib.crc32(obs.data))

    def init(key: RandomKey) -> HostedRun:
        obs, playing = reset(0)
        run, choice = programs.begin(key, obs)
        return HostedRun(run, choice, playing)

    def restart(state: HostedRun) -> HostedRun:
        obs, playing = reset(state.playing.number + 1)
        run, choice = programs.begin_again(state.run, obs)
        return HostedRun(run, choice, playing)

    def advance(state: HostedRun, count: int, stop: Stop = driver.never) -> Advanced:
        driver.require_steps(count)
        run, choice, playing = state
        now = int(run.step)
        packed = to_list(run)
        end = now + count
        records: list[Record] = []
        fault: FaultyEnvironmentError | None = None
        halted = False
        while now < end and not halted:
            first, until = now, driver.next_boundary(now, end, config)
            room, infos = programs.empty_room(), list[dict[str, Any]]()
            while now < until and not halted:
                action = int(choice.action)
                try:
                    found = environment.step(action)
                    over = found.terminated or found.truncated
                    onward, following = reset(playing.number + 1) if over else (found.obs, playing)
                except FaultyEnvironmentError as error:
                    fault = error
                    break
                playing = following if over else _played(playing, action, found.obs)
                answer = _answer(found, onward)
                packed, choice, room = programs.one_step(packed, choice, room, np.int32(now - first), answer)
                infos.append(found.info)
                now += 1
                halted = stop()
            records.append(driver.read(room, now - first)._replace(info=_events(infos)))
            if driver.renews_target(now, config) and now > first:
                packed = programs.renew_target(packed)
            halted = halted or fault is not None
        return Advanced(HostedRun(to_run(packed), choice, playing), _joined(records), fault)

    def reopen(state: HostedRun) -> HostedRun:
        """Play the episode again; where it does not come out the same, begin a new one."""
        try:
            _, playing = reset(state.playing.number)
            for action in state.playing.actions:
                found = environment.step(action)
                playing = _played(playing, action, found.obs)
            same = playing.trace == state.playing.trace
        except FaultyEnvironmentError:
            same = False
        if same:
            return state
        warnings.warn(
            f"{environment.name}: episode {state.playing.number} could not be played again as it was "
            "(its chance does not follow the seed); a new one begins",
            stacklevel=2,
        )
        return restart(state)

    return Driver(init, restart, advance, reopen, lambda: programs.choice_shapes)


def _played(playing: Playing, action: int, obs: NDArray[Any]) -> Playing:
    # The list grows in place: an episode may be long.
    playing.actions.append(action)
    return playing._replace(trace=zlib.crc32(obs.data, playing.trace))


def _answer(found: Checked, onward: NDArray[Any]) -> Any:
    reward = np.asarray(found.reward, jax.dtypes.canonicalize_dtype(float))
    return Answer(found.obs, reward, np.bool_(found.terminated), np.bool_(found.truncated), onward)  # pyright: ignore[reportArgumentType]


def _events(infos: list[dict[str, Any]]) -> dict[str, NDArray[np.bool_]]:
    """What happened or not at each step, by the truth values among an environment's remarks."""
    names = {name for info in infos for name, value in info.items() if isinstance(value, bool | np.bool_)}
    return {
        str(name): np.array([bool(info.get(name, False)) for info in infos])
        for name in sorted(names, key=str)
    }


def _joined(records: list[Record]) -> Record:
    """Records one after the other; an event that a part does not mention did not happen in it."""
    names = sorted({name for record in records for name in record.info})
    padded = [
        record._replace(
            info={name: record.info.get(name, np.zeros(len(record.reward), bool)) for name in names}
        )
        for record in records
    ]
    return driver.joined(padded)
