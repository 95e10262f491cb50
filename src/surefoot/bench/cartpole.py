"""Hosted training on CartPole-v1, beside SB3-contrib's QR-DQN with the same network, batch and updates."""

from typing import Any

import jax

from surefoot.agents import AGENTS
from surefoot.agents.presets import resolve_settings
from surefoot.architectures import architecture_for
from surefoot.bench import sb3
from surefoot.bench.timing import Contender, seconds_per_call
from surefoot.bench.surefoot_agents import AGENT_NAMES
from surefoot.envs.checked import CheckedEnv, make_env
from surefoot.training import hosted_driver

NAME = "CartPole-v1"
WIDTHS = (64, 64)
BATCH, LEARNING_STARTS, CAPACITY = 32, 1_000, 50_000


def contenders() -> list[Contender]:
    """Ours and, where it is installed, the peer."""
    peer = [sb3.cartpole(WIDTHS, BATCH, CAPACITY)] if sb3.is_there() else []
    return [*map(_ours, AGENT_NAMES), *peer]


def seconds_per_check() -> float:
    """Of checking one answer of the environment."""
    environment = CheckedEnv(make_env(NAME), NAME)
    environment.reset(0)
    answer = environment.env.step(0)
    return seconds_per_call(lambda: environment.accept(answer))


def _ours(name: str) -> Contender:
    same: dict[str, Any] = {
        "batch_size": BATCH,
        "learning_starts": LEARNING_STARTS,
        "replay_capacity": CAPACITY,
    }
    if name in {"uadqn", "qrdqn"}:
        same["quantiles"] = sb3.QUANTILES
    config = resolve_settings(name, "control", same)
    environment = CheckedEnv(make_env(NAME), NAME)
    spec = "mlp:" + ",".join(map(str, WIDTHS))
    architecture = architecture_for(environment.observation_space, spec)
    agent = AGENTS[name].make(config, architecture, int(environment.action_space.n), None)
    driver = hosted_driver.make(agent, environment, config, 0)
    state = driver.advance(driver.init(jax.random.key(0)), LEARNING_STARTS + 500).state

    def make_steps(count: int) -> None:
        nonlocal state
        state = driver.advance(state, count).state

    return Contender(f"Surefoot {name}", make_steps)
