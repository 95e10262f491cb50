"""Agents that know what they have not learned yet, and what can never be known in advance."""

__version__ = "0.1.0"

from surefoot import envs, estimators

__all__ = ["__version__", "envs", "estimators"]
