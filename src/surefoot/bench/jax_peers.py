"""Other libraries in JAX: DQN of Rejax on MinAtar and of SBX on CartPole, each in an environment of its own.

Network, batch, updates per step, period of the target, replay, learning rate and discount are Surefoot's.
What differs: Rejax samples batches without replacement, by weights of all transitions, unless its sampling is
replaced; it stores observations as floats; its environment is Gymnax's. SBX has SB3's replay in NumPy.
"""

from pathlib import Path
from typing import Any

from surefoot.bench import other_process
from surefoot.bench.timing import Contender

REJAX, REJAX_UNIFORM, SBX = "Rejax DQN", "Rejax DQN, uniform sampling", "SBX DQN"
INSTALL = "make peers"
"""The command that installs them."""


def python_of(directory: Path, library: str) -> Path:
    """The interpreter of a library's environment."""
    return directory / library / "bin" / "python"


def missing(directory: Path, library: str) -> bool:
    """Whether a library is not installed in a directory of environments."""
    return not python_of(directory, library).exists()


def rejax(directory: Path, settings: dict[str, Any]) -> list[Contender]:
    """Rejax's DQN as it is, and with the sampling that Surefoot has."""
    python = python_of(directory, "rejax")
    return [
        other_process.contender(name, "rejax", {**settings, "sampling": sampling}, python=python)
        for name, sampling in ((REJAX, "own"), (REJAX_UNIFORM, "uniform"))
    ]


def sbx(directory: Path, settings: dict[str, Any]) -> Contender:
    """SBX's DQN."""
    return other_process.contender(SBX, "sbx", settings, python=python_of(directory, "sbx"))
