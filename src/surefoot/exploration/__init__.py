"""Explorers: from beliefs to the action taken while learning, one a file."""

from surefoot.exploration import epsilon_greedy, ids, thompson, ucb
from surefoot.registry import Registry
from surefoot.types import ExplorerKind

EXPLORERS = Registry(
    "explorer",
    ExplorerKind,
    {
        "thompson": thompson.PER_STEP,
        "thompson-episode": thompson.PER_EPISODE,
        "thompson-draw": thompson.PER_DRAW,
        "ucb": ucb.KIND,
        "ids": ids.DETERMINISTIC,
        "ids-randomised": ids.RANDOMISED,
        "epsilon-greedy": epsilon_greedy.KIND,
    },
)
