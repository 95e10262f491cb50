"""Seeds of episodes, derived from a run's seed, the purpose of the episodes, and their number."""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What episodes are for: the seeds of one stream are independent of those of the others."""

    TRAINING = 0
    EVALUATION = 1
    """Evaluations while training."""
    TEST = 2
    """Evaluations afterwards."""
    AUDIT = 3
    """Episodes in which uncertainty is compared with what happens."""
    HELD_OUT = 4
    """Episodes that thresholds are fitted to."""


def episode_seed(run_seed: int, stream: int, episode: int) -> int:
    """A seed of 32 bits, which every environment takes."""
    return int(np.random.SeedSequence((run_seed, stream, episode)).generate_state(1)[0])
