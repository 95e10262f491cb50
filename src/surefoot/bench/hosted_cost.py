"""What a hosted step of CartPole-v1 takes: the environment, learning, and all that stands between them."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from surefoot.bench.cartpole import ENV_ID, hosted_agent
from surefoot.bench.timing import seconds_per_call
from surefoot.envs.checked import make_env
from surefoot.jit import jit_for_speed
from surefoot.training import step as steps
from surefoot.training.step import EnvResponse

STEPS = 500
"""Steps of one measurement."""


class HostedCost(NamedTuple):
    """Seconds that one step takes, and where they go."""

    agent: str
    step: float
    """The whole step."""
    environment: float
    """The environment alone, with its resets."""
    learning: float
    """Storing, learning and choosing, many steps in one program."""

    @property
    def overhead(self) -> float:
        """What is left: calls of the program, checks of what the environment returned, records."""
        return self.step - self.environment - self.learning


def run(name: str) -> HostedCost:
    """Measure one agent."""
    agent, config, driver = hosted_agent(name)
    state = driver.advance(driver.init(jax.random.key(0)), config.learning_starts + STEPS).state

    def advance() -> None:
        nonlocal state
        state = driver.advance(state, STEPS).state

    per_call = partial(seconds_per_call, calls=1)
    whole = per_call(advance) / STEPS
    environment = per_call(_steps_of(make_env(ENV_ID))) / STEPS
    obs = jnp.zeros_like(state.train.obs)
    response = EnvResponse(obs, jnp.ones(()), jnp.asarray(False), jnp.asarray(False), obs)

    def one_step(_: Any, carry: Any) -> Any:
        train, choice = carry
        keys = steps.step_keys(train)
        train, _record = steps.store_and_learn(agent, config, train, keys, choice, response, True)
        return train, steps.choose_action(agent, config, train, steps.step_keys(train))

    @jit_for_speed
    def many_steps(train: Any, choice: Any) -> Any:
        return jax.lax.fori_loop(0, STEPS, one_step, (train, choice))

    carry = many_steps(state.train, state.choice)
    learning = per_call(lambda: jax.block_until_ready(many_steps(*carry))) / STEPS
    return HostedCost(name, whole, environment, learning)


def _steps_of(env: Any) -> Any:
    """A function that takes some steps with alternating actions."""
    env.reset(seed=0)

    def take() -> None:
        for action in np.arange(STEPS) % 2:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    return take
