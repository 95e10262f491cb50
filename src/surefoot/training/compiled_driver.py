"""The compiled driver: an environment in JAX, many steps in one program.

Targets are renewed between two calls of the program: a conditional inside it that returned networks would
copy them at every step.
"""

from typing import Any, NamedTuple

import jax
from jaxtyping import PyTree

from surefoot.agents.base import AgentConfig
from surefoot.jit import jit_for_speed, jit_for_startup
from surefoot.program_cache import cached_program
from surefoot.training import driver, records
from surefoot.training import step as steps
from surefoot.training.driver import AdvanceResult, Driver, Stop
from surefoot.training.records import StepRecord
from surefoot.training.step import EnvResponse, TrainState
from surefoot.types import Agent, Environment, RandomKey


class CompiledState(NamedTuple):
    """The state of training and of its environment."""

    train: TrainState
    environment: PyTree


@cached_program
def make(agent: Agent, environment: Environment, config: AgentConfig) -> Driver:
    """A driver; the same agent in the same environment shares its programs."""

    def init(key: RandomKey) -> CompiledState:
        reset_key, run_key = jax.random.split(key)
        env_state, obs = environment.reset(reset_key)
        return CompiledState(steps.init_state(agent, config, run_key, obs), env_state)

    def restart(state: CompiledState) -> CompiledState:
        reset_key, episode_key = jax.random.split(steps.restart_key(state.train))
        env_state, obs = environment.reset(reset_key)
        return CompiledState(steps.restart_episode(agent, state.train, episode_key, obs), env_state)

    def one_step(state: CompiledState, learn: Any) -> tuple[CompiledState, StepRecord]:
        keys = steps.step_keys(state.train)
        choice = steps.choose_action(agent, state.train, keys)
        found = environment.step(state.environment, choice.action, keys.environment)
        done = found.terminated | found.truncated
        fresh = environment.reset(keys.reset)
        env_state, next_start_obs = steps.tree_where(done, fresh, (found.state, found.obs))
        response = EnvResponse(found.obs, found.reward, found.terminated, found.truncated, next_start_obs)
        train, record = steps.store_and_learn(agent, config, state.train, keys, choice, response, learn)
        return CompiledState(train, env_state), record._replace(info=found.info)

    def many_steps(state: CompiledState, count: Any, learn: Any) -> tuple[CompiledState, StepRecord]:
        def body(i: Any, carry: tuple[CompiledState, StepRecord]) -> tuple[CompiledState, StepRecord]:
            state, record = one_step(carry[0], learn)
            return state, records.write(carry[1], i, record)

        _, example = jax.eval_shape(one_step, state, learn)
        return jax.lax.fori_loop(0, count, body, (state, records.allocate(example)))

    def with_new_target(state: CompiledState) -> CompiledState:
        learner = agent.renew_target(state.train.learner)
        return state._replace(train=state.train._replace(learner=learner))

    advance_program = jit_for_speed(many_steps, donate_argnums=0)
    renew_target = jit_for_startup(with_new_target, donate_argnums=0)

    def advance(state: CompiledState, count: int, stop: Stop = driver.never_stop) -> AdvanceResult:
        driver.require_steps(count)
        now = int(state.train.step)
        end = now + count
        parts: list[StepRecord] = []
        while now < end and not (parts and stop()):
            until = driver.next_boundary(now, end, config)
            state, buffer = advance_program(state, until - now, now >= config.learning_starts)
            parts.append(records.read(buffer, until - now))
            now = until
            if driver.renews_target(now, config):
                state = renew_target(state)
        return AdvanceResult(state, records.concatenate(parts))

    return Driver(
        init=jit_for_startup(init),
        restart=jit_for_startup(restart, donate_argnums=0),
        advance=advance,
        reopen=lambda state: state,
        env_state_shapes=lambda: jax.eval_shape(environment.reset, jax.random.key(0))[0],
    )
