"""Surefoot's agents on MinAtar Breakout, with the paper's sizes and a full replay."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from surefoot.agents import AGENTS
from surefoot.agents.base import AgentConfig
from surefoot.agents.presets import resolve_settings
from surefoot.architectures import architecture_for
from surefoot.bench.timing import Contender
from surefoot.envs import GymnasiumEnvironment, minatar
from surefoot.envs.checked import CheckedEnv
from surefoot.replay import Replay
from surefoot.training import compiled_driver, hosted_driver
from surefoot.training.driver import Driver, round_up
from surefoot.types import Agent, Environment

GAME = "breakout"
AGENT_NAMES = ("uadqn", "qrdqn", "dqn", "bootstrapped")
LEARNING_STARTS = 40
DISTINCT_IMAGES = 1_000
"""Different images in a replay that is filled for the benchmark."""


def agent_settings(name: str, **overrides: Any) -> AgentConfig:
    """The paper's settings, except that learning starts early."""
    return resolve_settings(name, "minatar", {"learning_starts": LEARNING_STARTS, **overrides})


def make_agent(name: str, config: AgentConfig, environment: Environment) -> Agent:
    """An agent with the paper's network."""
    architecture = architecture_for(environment.observation_space)
    return AGENTS[name].make(config, architecture, int(environment.action_space.n), None)


def compiled_contender(name: str, label: str | None = None, **overrides: Any) -> Contender:
    """An agent whose environment is compiled with it into one program."""
    environment, config = minatar.make(GAME), agent_settings(name, **overrides)
    driver = compiled_driver.make(make_agent(name, config, environment), environment, config)
    return _contender(label or f"{name}, compiled", driver, config)


def hosted_contender(name: str) -> Contender:
    """An agent with the same environment, stepped through Gymnasium."""
    environment, config = minatar.make(GAME), agent_settings(name)
    env = CheckedEnv(GymnasiumEnvironment(environment, {}), GAME)
    driver = hosted_driver.make(make_agent(name, config, environment), env, config, 0)
    return _contender(f"{name}, hosted", driver, config)


def _contender(name: str, driver: Driver, config: AgentConfig) -> Contender:
    # Enough steps for every program to be compiled, that of the target networks too.
    steps = round_up(config.target_period + 1, config.envs)
    state = driver.advance(driver.init(jax.random.key(0)), steps).state
    state = state._replace(train=state.train._replace(replay=fill_replay(state.train.replay)))

    def make_steps(count: int) -> None:
        nonlocal state
        state = driver.advance(state, count).state

    return Contender(name, make_steps, config.envs)


def fill_replay(replay: Replay) -> Replay:
    """A full replay of random images: its contents do not change the speed, its size does."""
    storage, rng = replay.storage, np.random.default_rng(0)
    shape = storage.obs.shape
    images = rng.random((DISTINCT_IMAGES, *shape[1:])) < 0.1
    obs = jnp.asarray(images[rng.integers(DISTINCT_IMAGES, size=shape[0])])
    full = storage._replace(obs=obs, next_obs=jnp.copy(obs))
    return Replay(full, jnp.asarray(replay.capacity, jnp.int32))
