"""Hosted training on CartPole-v1, compared with SB3-contrib and SBX: equal network, batch and updates."""

from pathlib import Path
from typing import Any

import jax

from surefoot.agents import AGENTS
from surefoot.agents.base import AgentConfig
from surefoot.agents.presets import resolve_settings
from surefoot.architectures import architecture_for
from surefoot.bench import jax_peers, sb3
from surefoot.bench.surefoot_agents import AGENT_NAMES
from surefoot.bench.timing import Contender, seconds_per_call
from surefoot.envs.checked import CheckedEnv, make_env
from surefoot.training import hosted_driver
from surefoot.training.driver import Driver
from surefoot.types import Agent

ENV_ID = "CartPole-v1"
WIDTHS = (64, 64)
SETTINGS: dict[str, Any] = {
    "batch_size": 32,
    "learning_starts": 1_000,
    "replay_capacity": 50_000,
    "target_period": 1_000,
}
"""Settings of all libraries."""


def contenders(peers: Path) -> list[Contender]:
    """Surefoot's agents and, where they are installed, SB3-contrib's QR-DQN and SBX's DQN."""
    capacity, batch = SETTINGS["replay_capacity"], SETTINGS["batch_size"]
    in_torch = [sb3.cartpole(WIDTHS, batch, capacity)] if sb3.is_installed() else []
    dqn = resolve_settings("dqn", "control", SETTINGS)
    like_dqn = {**SETTINGS, "learning_rate": dqn.learning_rate, "discount": dqn.discount, "widths": WIDTHS}
    in_jax = [] if jax_peers.missing(peers, "sbx") else [jax_peers.sbx(peers, like_dqn)]
    return [*map(_surefoot_contender, AGENT_NAMES), *in_torch, *in_jax]


def seconds_per_check() -> float:
    """Seconds that the check of one response of the environment takes."""
    environment = CheckedEnv(make_env(ENV_ID), ENV_ID)
    environment.reset(0)
    response = environment.env.step(0)
    return seconds_per_call(lambda: environment.check_step(response))


def hosted_agent(name: str) -> tuple[Agent, AgentConfig, Driver]:
    """An agent with these settings, and its driver."""
    settings = dict(SETTINGS)
    if name in {"uadqn", "qrdqn"}:
        settings["quantiles"] = sb3.QUANTILES
    config = resolve_settings(name, "control", settings)
    environment = CheckedEnv(make_env(ENV_ID), ENV_ID)
    spec = "mlp:" + ",".join(map(str, WIDTHS))
    architecture = architecture_for(environment.observation_space, spec)
    agent = AGENTS[name].make(config, architecture, int(environment.action_space.n), None)
    return agent, config, hosted_driver.make(agent, environment, config, 0)


def _surefoot_contender(name: str) -> Contender:
    _, config, driver = hosted_agent(name)
    state = driver.advance(driver.init(jax.random.key(0)), config.learning_starts + 500).state

    def make_steps(count: int) -> None:
        nonlocal state
        state = driver.advance(state, count).state

    return Contender(f"Surefoot {name}", make_steps)
