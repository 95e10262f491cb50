"""Agents, one a file: each has a `Config` and a `make`."""

from collections.abc import Callable
from typing import Any, NamedTuple

from surefoot.agents import bootstrapped, dqn, qrdqn, uadqn
from surefoot.agents.base import Learning
from surefoot.architectures import Architecture
from surefoot.types import Agent


class AgentKind(NamedTuple):
    """An agent's settings, and how it is made from them, an architecture and a number of actions."""

    config: type[Learning]
    make: Callable[[Any, Architecture, int], Agent]


AGENTS: dict[str, AgentKind] = {
    "dqn": AgentKind(dqn.Config, dqn.make),
    "qrdqn": AgentKind(qrdqn.Config, qrdqn.make),
    "bootstrapped": AgentKind(bootstrapped.Config, bootstrapped.make),
    "uadqn": AgentKind(uadqn.Config, uadqn.make),
}
