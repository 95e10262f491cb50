"""Agents, one a file: each has a `Config`, a `make` and an entry, `KIND`."""

from surefoot.agents import bootstrapped, dqn, qrdqn, uadqn
from surefoot.agents.base import AgentKind
from surefoot.registry import Registry

AGENTS = Registry(
    "agent",
    AgentKind,
    {"dqn": dqn.KIND, "qrdqn": qrdqn.KIND, "bootstrapped": bootstrapped.KIND, "uadqn": uadqn.KIND},
)

DEFAULT_AGENT = "uadqn"
"""The agent of a run whose agent is not named."""
