"""Hosted training on CartPole-v1, beside SB3-contrib's QR-DQN with the same network, batch and updates."""

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import jax

from surefoot.agents import AGENTS
from surefoot.agents.presets import settings_of
from surefoot.architectures import architecture_for
from surefoot.bench.measure import Contender, Speed, alternate, seconds_per_call
from surefoot.envs.hosting import CheckedEnvironment, open_environment
from surefoot.training import hosted

NAME = "CartPole-v1"
WIDTHS = (64, 64)
BATCH, QUANTILES, LEARNING_STARTS, CAPACITY = 32, 50, 1_000, 50_000
PEER = "SB3-contrib QR-DQN"


class Outcome(NamedTuple):
    """What was measured."""

    speeds: list[Speed]
    check_seconds: float
    """Of checking one answer of the environment."""


def run(*, steps: int, rounds: int, after_round: Callable[[], None] = lambda: None) -> Outcome:
    """Ours and, where it is installed, the peer."""
    contenders = [_ours(name) for name in ("uadqn", "qrdqn", "dqn", "bootstrapped")]
    if find_spec("sb3_contrib") is not None:
        contenders.append(_peer())
    speeds = alternate(contenders, steps=steps, rounds=rounds, after_round=after_round)
    environment = CheckedEnvironment(open_environment(NAME), NAME)
    environment.reset(0)
    answer = environment.env.step(0)
    return Outcome(speeds, seconds_per_call(lambda: environment.accept(answer)))


def _ours(name: str) -> Contender:
    same: dict[str, Any] = {
        "batch_size": BATCH,
        "learning_starts": LEARNING_STARTS,
        "replay_capacity": CAPACITY,
    }
    if name in {"uadqn", "qrdqn"}:
        same["quantiles"] = QUANTILES
    config = settings_of(name, "control", same)
    environment = CheckedEnvironment(open_environment(NAME), NAME)
    spec = "mlp:" + ",".join(map(str, WIDTHS))
    architecture = architecture_for(environment.observation_space, spec)
    agent = AGENTS[name].make(config, architecture, int(environment.action_space.n))
    driver = hosted.make(agent, environment, config, 0)
    state = driver.advance(driver.init(jax.random.key(0)), LEARNING_STARTS + 500).state

    def make_steps(count: int) -> None:
        nonlocal state
        state = driver.advance(state, count).state

    return Contender(f"Surefoot {name}", make_steps)


def _peer() -> Contender:
    import torch  # pyright: ignore[reportMissingImports]
    from sb3_contrib import QRDQN  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
    model = QRDQN(
        "MlpPolicy",
        NAME,
        batch_size=BATCH,
        train_freq=1,
        gradient_steps=1,
        learning_starts=LEARNING_STARTS,
        buffer_size=CAPACITY,
        policy_kwargs={"net_arch": list(WIDTHS), "n_quantiles": QUANTILES},
        device="cpu",
        seed=0,
    )
    model.learn(LEARNING_STARTS + 500)
    return Contender(PEER, lambda count: model.learn(count, reset_num_timesteps=False) and None)
