"""Hosted training on CartPole-v1, compared with SB3-contrib's QR-DQN: equal network, batch and updates."""

from typing import Any

import jax

from surefoot.agents import AGENTS
from surefoot.agents.presets import resolve_settings
from surefoot.architectures import architecture_for
from surefoot.bench import sb3
from surefoot.bench.surefoot_agents import AGENT_NAMES
from surefoot.bench.timing import Contender, seconds_per_call
from surefoot.envs.checked import CheckedEnv, make_env
from surefoot.training import hosted_driver

ENV_ID = "CartPole-v1"
WIDTHS = (64, 64)
BATCH, LEARNING_STARTS, CAPACITY = 32, 1_000, 50_000


def contenders() -> list[Contender]:
    """Surefoot's agents and, if it is installed, SB3-contrib's QR-DQN."""
    peer = [sb3.cartpole(WIDTHS, BATCH, CAPACITY)] if sb3.is_installed() else []
    return [*map(_surefoot_contender, AGENT_NAMES), *peer]


def seconds_per_check() -> float:
    """Seconds that the check of one response of the environment takes."""
    environment = CheckedEnv(make_env(ENV_ID), ENV_ID)
    environment.reset(0)
    response = environment.env.step(0)
    return seconds_per_call(lambda: environment.check_step(response))


def _surefoot_contender(name: str) -> Contender:
    settings: dict[str, Any] = {
        "batch_size": BATCH,
        "learning_starts": LEARNING_STARTS,
        "replay_capacity": CAPACITY,
    }
    if name in {"uadqn", "qrdqn"}:
        settings["quantiles"] = sb3.QUANTILES
    config = resolve_settings(name, "control", settings)
    environment = CheckedEnv(make_env(ENV_ID), ENV_ID)
    spec = "mlp:" + ",".join(map(str, WIDTHS))
    architecture = architecture_for(environment.observation_space, spec)
    agent = AGENTS[name].make(config, architecture, int(environment.action_space.n), None)
    driver = hosted_driver.make(agent, environment, config, 0)
    state = driver.advance(driver.init(jax.random.key(0)), LEARNING_STARTS + 500).state

    def make_steps(count: int) -> None:
        nonlocal state
        state = driver.advance(state, count).state

    return Contender(f"Surefoot {name}", make_steps)
