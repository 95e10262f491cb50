"""The compiled driver: an environment in JAX, many steps in one program.

Targets are renewed between two calls of it: a conditional that returned networks would copy them at every
step.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import PyTree

from surefoot.agents.base import Learning
from surefoot.compiling import to_run_fast, to_start_fast
from surefoot.training import driver
from surefoot.training import step as steps
from surefoot.training.driver import Advanced, Driver, Stop
from surefoot.training.step import Answer, Record, Run
from surefoot.types import Agent, Environment, RandomKey, Same


class CompiledRun(NamedTuple):
    """A run and the state of its environment."""

    run: Run
    environment: PyTree


class Width(NamedTuple):
    """How many runs go through one program: what it does to functions, and where time lies in records."""

    transform: Callable[[Callable[..., Any]], Callable[..., Any]]
    time_axis: int


ONE_RUN = Width(lambda function: function, 0)
MANY_RUNS = Width(jax.vmap, 1)
"""Runs stacked along the first axis of keys and state. For accelerators: on CPU one by one is faster."""


def make(agent: Agent, environment: Environment, config: Learning, width: Width = ONE_RUN) -> Driver:
    """A driver of one run, or of many; for the same agent in the same environment, the same programs."""
    return _make(agent, Same(environment), config, width)


@lru_cache(maxsize=driver.KEPT)
def _make(agent: Agent, same_environment: Same[Environment], config: Learning, width: Width) -> Driver:
    environment, (lift, time_axis) = same_environment.thing, width

    def init(key: RandomKey) -> CompiledRun:
        reset_key, run_key = jax.random.split(key)
        state, obs = environment.reset(reset_key)
        return CompiledRun(steps.start(agent, config, run_key, obs), state)

    def restart(state: CompiledRun) -> CompiledRun:
        reset_key, episode_key = jax.random.split(steps.restart_key(state.run))
        fresh, obs = environment.reset(reset_key)
        return CompiledRun(steps.restart(agent, state.run, episode_key, obs), fresh)

    def one_step(state: CompiledRun, learn: Any) -> tuple[CompiledRun, Record]:
        keys = steps.keys_of(state.run)
        choice = steps.choose(agent, state.run, keys)
        found = environment.step(state.environment, choice.action, keys.environment)
        fresh = environment.reset(keys.reset)
        over = found.terminated | found.truncated
        next_state, onward = steps.select(over, fresh, (found.state, found.obs))
        answer = Answer(found.obs, found.reward, found.terminated, found.truncated, onward)
        run, record = steps.absorb(agent, config, state.run, keys, choice, answer, learn)
        return CompiledRun(run, next_state), record._replace(info=found.info)

    def many_steps(state: CompiledRun, count: Any, learn: Any) -> tuple[CompiledRun, Record]:
        def body(i: Any, carry: tuple[CompiledRun, Record]) -> tuple[CompiledRun, Record]:
            state, record = one_step(carry[0], learn)
            return state, driver.write(carry[1], i, record)

        _, example = jax.eval_shape(one_step, state, learn)
        return jax.lax.fori_loop(0, count, body, (state, driver.room_for(example)))

    # The number of steps, and whether to learn, are the same for all runs, the state is each one's own.
    advance_all = to_run_fast(
        lambda state, count, learn: lift(lambda each: many_steps(each, count, learn))(state), donate_argnums=0
    )
    renew_target = to_start_fast(
        lift(
            lambda state: state._replace(
                run=state.run._replace(learner=agent.renew_target(state.run.learner))
            )
        ),
        donate_argnums=0,
    )

    def advance(state: CompiledRun, count: int, stop: Stop = driver.never) -> Advanced:
        driver.require_steps(count)
        now = int(np.max(state.run.step))
        end = now + count
        records: list[Record] = []
        while now < end and not (records and stop()):
            until = driver.next_boundary(now, end, config)
            state, room = advance_all(state, until - now, now >= config.learning_starts)
            records.append(driver.read(room, until - now, time_axis))
            now = until
            if driver.renews_target(now, config):
                state = renew_target(state)
        return Advanced(state, driver.joined(records, time_axis))

    return Driver(
        init=to_start_fast(lift(init)),
        restart=to_start_fast(lift(restart), donate_argnums=0),
        advance=advance,
        reopen=lambda state: state,
        shapes_beside=lambda: jax.eval_shape(environment.reset, jax.random.key(0))[0],
    )
