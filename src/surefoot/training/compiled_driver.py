"""The compiled driver: an environment in JAX, many steps in one program.

Targets are renewed between two calls of the program: a conditional inside it that returned networks would
copy them at every step.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
from jaxtyping import Array, PyTree

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
    for_each_env, env_keys = partial(steps.for_each_env, config), partial(steps.env_keys, config)

    def reset(key: RandomKey) -> tuple[PyTree, Array]:
        return for_each_env(environment.reset)(env_keys(key))

    def init(key: RandomKey) -> CompiledState:
        reset_key, run_key = jax.random.split(key)
        env_state, obs = reset(reset_key)
        return CompiledState(steps.init_state(agent, config, run_key, obs), env_state)

    def restart(state: CompiledState) -> CompiledState:
        reset_key, episode_key = jax.random.split(steps.restart_key(state.train))
        env_state, obs = reset(reset_key)
        return CompiledState(steps.restart_episode(agent, config, state.train, episode_key, obs), env_state)

    # So that JAX traces it once, although `many_steps` asks for the shapes of a record first.
    @partial(jax.jit, inline=True)
    def one_step(state: CompiledState, learn: Any) -> tuple[CompiledState, StepRecord]:
        keys = steps.step_keys(state.train)
        choice = steps.choose_action(agent, config, state.train, keys)
        step_env = for_each_env(environment.step)
        found = step_env(state.environment, choice.action, env_keys(keys.environment))
        done = found.terminated | found.truncated
        next_start = for_each_env(steps.tree_where)(done, reset(keys.reset), (found.state, found.obs))
        env_state, next_start_obs = next_start
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
        driver.require_steps(count, config)
        now = int(state.train.step)
        end = now + count
        parts: list[StepRecord] = []
        while now < end and not (parts and stop()):
            until = driver.next_boundary(now, end, config)
            rounds = (until - now) // config.envs
            state, buffer = advance_program(state, rounds, now >= config.learning_starts)
            parts.append(records.of_all_envs(records.read(buffer, rounds), config.envs))
            now = until
            if driver.renews_target(now, config):
                state = renew_target(state)
        return AdvanceResult(state, records.concatenate(parts))

    return Driver(
        init=jit_for_startup(init),
        restart=jit_for_startup(restart, donate_argnums=0),
        advance=advance,
        reopen=lambda state: state,
        env_state_shapes=lambda: jax.eval_shape(reset, jax.random.key(0))[0],
    )
