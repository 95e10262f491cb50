"""Agents that know what they have not learned yet, and what can never be known in advance."""

__version__ = "0.1.0"

from surefoot import envs, estimators
from surefoot.model import DQN, QRDQN, UADQN, BootstrappedDQN, Model, load, resume
from surefoot.types import Beliefs, UserError

__all__ = [
    "DQN",
    "QRDQN",
    "UADQN",
    "Beliefs",
    "BootstrappedDQN",
    "Model",
    "UserError",
    "__version__",
    "envs",
    "estimators",
    "load",
    "resume",
]
