"""The compiled driver: an environment in JAX, many steps in one program.

Warm-up and learning are separate programs, and targets are renewed between them: a conditional that returned
networks or replay would copy them at every step.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from surefoot.agents.base import Learning
from surefoot.training import step as steps
from surefoot.training.step import Answer, Record, Run
from surefoot.types import Agent, Environment, RandomKey

LONGEST = 1_000
"""Steps in one call of a program, at most: the room for their records."""


class CompiledRun(NamedTuple):
    """A run and the state of its environment."""

    run: Run
    environment: PyTree


class Driver(NamedTuple):
    """Trains an agent in an environment.

    - `init(key)`: a run before its first step.
    - `advance(state, count)`: the run `count` steps later, and the records of those steps (NumPy). The
      state that went in is used up. However a run is cut into calls, it ends the same.
    """

    init: Callable[[RandomKey], CompiledRun]
    advance: Callable[[CompiledRun, int], tuple[CompiledRun, Record]]


class Width(NamedTuple):
    """How many runs go through one program: what it does to functions, and where time lies in records."""

    transform: Callable[[Callable[..., Any]], Callable[..., Any]]
    time_axis: int


ONE_RUN = Width(lambda function: function, 0)
MANY_RUNS = Width(jax.vmap, 1)
"""Runs stacked along the first axis of keys and state. For accelerators: on CPU one by one is faster."""


def make(agent: Agent, environment: Environment, config: Learning, width: Width = ONE_RUN) -> Driver:
    """A driver of one run, or of many."""
    lift, time_axis = width

    def init(key: RandomKey) -> CompiledRun:
        reset_key, run_key = jax.random.split(key)
        state, obs = environment.reset(reset_key)
        return CompiledRun(steps.start(agent, config, run_key, obs), state)

    def one_step(state: CompiledRun, *, learn: bool) -> tuple[CompiledRun, Record]:
        keys = steps.keys_of(state.run)
        choice = steps.choose(agent, state.run, keys)
        found = environment.step(state.environment, choice.action, keys.environment)
        fresh = environment.reset(keys.reset)
        over = found.terminated | found.truncated
        next_state, onward = steps.select(over, fresh, (found.state, found.obs))
        answer = Answer(found.obs, found.reward, found.terminated, found.truncated, onward)
        run, record = steps.absorb(agent, config, state.run, keys, choice, answer, learn=learn)
        return CompiledRun(run, next_state), record._replace(info=found.info)

    def program(learn: bool) -> Callable[[CompiledRun, int], tuple[CompiledRun, Record]]:
        def many_steps(state: CompiledRun, count: Any) -> tuple[CompiledRun, Record]:
            def body(i: Any, carry: tuple[CompiledRun, Record]) -> tuple[CompiledRun, Record]:
                state, record = one_step(carry[0], learn=learn)
                return state, jax.tree.map(lambda room, value: room.at[i].set(value), carry[1], record)

            _, example = jax.eval_shape(lambda state: one_step(state, learn=learn), state)
            room = jax.tree.map(lambda leaf: jnp.zeros((LONGEST, *leaf.shape), leaf.dtype), example)
            return jax.lax.fori_loop(0, count, body, (state, room))

        # The number of steps is the same for all runs, the state is each one's own.
        return jax.jit(
            lambda state, count: lift(lambda each: many_steps(each, count))(state), donate_argnums=0
        )

    warm_up, learning = program(learn=False), program(learn=True)
    renew_target = jax.jit(
        lift(
            lambda state: state._replace(
                run=state.run._replace(learner=agent.renew_target(state.run.learner))
            )
        ),
        donate_argnums=0,
    )

    def advance(state: CompiledRun, count: int) -> tuple[CompiledRun, Record]:
        if count < 1:
            raise ValueError(f"count: got {count}, accepted: whole numbers from 1")
        now = int(np.max(state.run.step))
        end = now + count
        records: list[Record] = []
        while now < end:
            stop = min(end, now + LONGEST, _next_boundary(now, config))
            state, room = (learning if now >= config.learning_starts else warm_up)(state, stop - now)
            records.append(_cut(room, stop - now, time_axis))
            now = stop
            if now > config.learning_starts and now % config.target_period == 0:
                state = renew_target(state)
        return state, jax.tree.map(lambda *parts: np.concatenate(parts, axis=time_axis), *records)

    return Driver(jax.jit(lift(init)), advance)


def _next_boundary(now: int, config: Learning) -> int:
    """The next step at which another program takes over or targets are renewed."""
    if now < config.learning_starts:
        return config.learning_starts
    return (now // config.target_period + 1) * config.target_period


def _cut(room: Record, count: int, time_axis: int) -> Record:
    """The part of the room for records that was used, out of JAX's hands."""
    return jax.tree.map(lambda leaf: np.take(np.asarray(leaf), np.arange(count), axis=time_axis), room)
