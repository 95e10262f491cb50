"""Agents that know what they have not learned yet, and what can never be known in advance."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Before JAX is imported: for every program that comes from its cache, XLA would log an error message about
# processor features, although the program was compiled on this very processor. Real errors JAX raises.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from surefoot import envs, estimators
from surefoot.cautious import Cautious
from surefoot.errors import UserError
from surefoot.model import MODELS, Model, load, resume
from surefoot.types import Beliefs

if TYPE_CHECKING:
    from surefoot.comparison import Comparison, compare

_CLASSES = {cls.__name__: cls for cls in MODELS.values()}
"""`DQN`, `QRDQN` and so on: one class for each entry of the registry of agents."""

_COMPARING = ("Comparison", "compare")
"""Imported when they are first used, because they import what draws figures."""

__all__ = ["Beliefs", "Cautious", "Model", "UserError", "__version__", "envs", "estimators", "load", "resume"]
__all__ += ["Comparison", "compare"]
__all__ += list(_CLASSES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return _CLASSES[name]
    if name in _COMPARING:
        return getattr(import_module("surefoot.comparison"), name)
    raise AttributeError(f"module 'surefoot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
