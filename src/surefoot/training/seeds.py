"""Seeds of episodes: from a run's seed, what they are for, and their number."""

from enum import IntEnum

import numpy as np


class Stream(IntEnum):
    """What episodes are for: those of one stream are independent of all others'."""

    TRAINING = 0
    EVALUATION = 1
    """While training."""
    TEST = 2
    """Afterwards."""


def episode_seed(run_seed: int, stream: int, episode: int) -> int:
    """A seed of 32 bits, which every kind of environment takes."""
    return int(np.random.SeedSequence((run_seed, stream, episode)).generate_state(1)[0])
