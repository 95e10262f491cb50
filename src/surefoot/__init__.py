"""Agents that know what they have not learned yet, and what can never be known in advance."""

import os

__version__ = "0.1.0"

# Before JAX is imported: of every program that comes from its cache, XLA would say at the level of errors
# that it was compiled for features of this very processor. What really goes wrong, JAX raises.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

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
