"""Surefoot's own agents on MinAtar Breakout, with the paper's sizes and a full replay."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from surefoot.agents import AGENTS
from surefoot.agents.base import Learning
from surefoot.agents.presets import resolve_settings
from surefoot.architectures import architecture_for
from surefoot.bench.timing import Contender
from surefoot.envs import GymnasiumEnvironment, minatar
from surefoot.envs.checked import CheckedEnv
from surefoot.replay import Replay
from surefoot.training import compiled_driver, hosted_driver
from surefoot.training.driver import Driver
from surefoot.types import Agent, Environment

GAME = "breakout"
AGENT_NAMES = ("uadqn", "qrdqn", "dqn", "bootstrapped")
LEARNING_STARTS = 40
SOME = 1_000
"""Different pictures in a replay that is filled for the benchmark."""


def settings(name: str, **overrides: Any) -> AgentConfig:
    """The paper's settings, but that learning starts soon."""
    return resolve_settings(name, "minatar", {"learning_starts": LEARNING_STARTS, **overrides})


def agent_of(name: str, config: Any, environment: Environment) -> Agent:
    """An agent with the paper's network."""
    architecture = architecture_for(environment.observation_space)
    return AGENTS[name].make(config, architecture, int(environment.action_space.n), None)


def compiled_contender(name: str, label: str | None = None, **overrides: Any) -> Contender:
    """Environment and agent in one program."""
    environment, config = minatar.make(GAME), settings(name, **overrides)
    driver = compiled_driver.make(agent_of(name, config, environment), environment, config)
    return _contender(label or f"{name}, compiled", driver, config)


def hosted_contender(name: str) -> Contender:
    """The same environment outside, through Gymnasium."""
    environment, config = minatar.make(GAME), settings(name)
    outside = CheckedEnv(GymnasiumEnvironment(environment, {}), GAME)
    driver = hosted_driver.make(agent_of(name, config, environment), outside, config, 0)
    return _contender(f"{name}, hosted", driver, config)


def _contender(name: str, driver: Driver, config: AgentConfig) -> Contender:
    # Long enough for every program to have run, the renewal of targets too.
    state = driver.advance(driver.init(jax.random.key(0)), config.target_period + 1).state
    state = state._replace(train=state.train._replace(replay=filled(state.train.replay)))

    def make_steps(count: int) -> None:
        nonlocal state
        state = driver.advance(state, count).state

    return Contender(name, make_steps)


def filled(replay: Replay) -> Replay:
    """A replay full of pictures of chance: what is in it does not matter, only that it is full."""
    storage, rng = replay.storage, np.random.default_rng(0)
    shape = storage.obs.shape
    some = rng.random((SOME, *shape[1:])) < 0.1
    full = jnp.asarray(some[rng.integers(SOME, size=shape[0])])
    pictures = storage._replace(obs=full, next_obs=jnp.copy(full))
    return Replay(pictures, jnp.asarray(replay.capacity, jnp.int32))
