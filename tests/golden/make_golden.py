"""Writes the golden files: `python -m tests.golden.make_golden DIRECTORY`.

They were last written when replays began to draw indices by Philox; with the former draws, all runs were
as before. Make them again only for a change that stands under Numerics in the CHANGELOG, and say so in the
commit.
"""

import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
from tests.golden.seeded_runs import RUNS, seeded_run  # noqa: E402 (after the precision is set)

if __name__ == "__main__":
    for name in RUNS:
        seeded_run(name, Path(sys.argv[1]) / name)
