"""The agents of the paper's released code, from the user's checkout of IndustAI/risk-and-uncertainty."""

import contextlib
import io
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from surefoot.bench.surefoot_agents import GAME
from surefoot.bench.timing import Contender
from surefoot.errors import UserError
from surefoot.text import error_line

SOURCES = "figs2-3_rl"
CAPACITY = 100_000

COMMON_SETTINGS: dict[str, Any] = {
    "gamma": 0.99,
    # The pull of their anchors is divided by the number of steps, so that learning cannot start at step 0.
    "replay_start_size": 1,
    "replay_buffer_size": CAPACITY,
    "update_target_frequency": 1_000,
    "minibatch_size": 32,
    "learning_rate": 1e-4,
    "adam_epsilon": 1e-8,
    "seed": 0,
}
"""Settings of the experiments on MinAtar for all agents; the replay is full before the first step."""
EPSILON_SETTINGS = {"initial_exploration_rate": 0.03, "final_exploration_rate": 0.03}
"""The final exploration rate from the first step, because trained agents seldom act at random."""

RELEASED_AGENTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "uadqn": (
        "uadqn.uadqn",
        "UADQN",
        {
            "n_quantiles": 50,
            "kappa": 0,
            "weight_scale": 3,
            "noise_scale": 1,
            "epistemic_factor": 0.2,
            "aleatoric_factor": 0,
        },
    ),
    "qrdqn": ("qrdqn.qrdqn", "QRDQN", {"n_quantiles": 50, "kappa": 0, **EPSILON_SETTINGS}),
    "dqn": ("dqn.dqn", "DQN", EPSILON_SETTINGS),
    "bootstrapped": ("bootstrapped.bootstrapped", "BOOTSTRAPPED", {"n_heads": 10, **EPSILON_SETTINGS}),
}
"""Module, class and further settings of each agent."""


def label(agent: str) -> str:
    """The name of the contender."""
    return f"released {agent}"


def require_checkout(path: Path) -> None:
    """Refuse a directory that is no checkout of the released code."""
    if not (path / SOURCES / "agents").is_dir():
        accepted = "a checkout of github.com/IndustAI/risk-and-uncertainty"
        raise UserError(f"released_code: got {path}, accepted: {accepted}")


def contenders(checkout: Path) -> list[Contender]:
    """The released UA-DQN, QR-DQN, DQN and Bootstrapped DQN on MinAtar Breakout."""
    require_checkout(checkout)
    sys.path.insert(0, str((checkout / SOURCES).resolve()))
    try:
        networks = import_module("agents.common.networks.cnn_minatar")
        transitions = _transitions()
        return [_contender(name, networks, transitions) for name in RELEASED_AGENTS]
    except ImportError as error:
        accepted = "a checkout whose imports are installed"
        raise UserError(f"released_code: {error_line(error)}, accepted: {accepted}") from error


def _contender(name: str, networks: Any, transitions: list[Any]) -> Contender:
    module, class_name, own = RELEASED_AGENTS[name]
    network = networks.CNNMinAtar_k_head if name == "bootstrapped" else networks.CNNMinAtar
    agent_class = getattr(import_module(f"agents.{module}"), class_name)
    agent = agent_class(_environment(), network, **COMMON_SETTINGS, **own)
    for transition in transitions:
        agent.replay_buffer.add(*transition)

    def make_steps(count: int) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            agent.learn(timesteps=count)

    return Contender(label(name), make_steps)


def _environment() -> Any:
    minatar: Any = import_module("minatar")
    return import_module("environments.minatar_wrappers").MinatarWrapper(minatar.Environment(GAME))


def _transitions() -> list[Any]:
    """Transitions of random actions that fill a replay, in the form that the released replay stores."""
    import numpy as np
    import torch  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
    environment, rng = _environment(), np.random.default_rng(0)
    found: list[Any] = []
    state = torch.as_tensor(environment.reset())
    for action in rng.integers(6, size=CAPACITY):
        after, reward, done, _ = environment.step(int(action))
        following = torch.as_tensor(after)
        numbers = torch.as_tensor([reward], dtype=torch.float), torch.as_tensor([done], dtype=torch.float)
        found.append((state, torch.as_tensor([int(action)]), numbers[0], following, numbers[1]))
        state = torch.as_tensor(environment.reset()) if done else following
    return found
