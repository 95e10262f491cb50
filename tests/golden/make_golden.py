"""Writes the golden files: `python tests/golden/make_golden.py DIRECTORY`.

They were written by the revision before the modules were renamed. Make them again only for a change that
stands under Numerics in the CHANGELOG, and say so in the commit.
"""

import sys
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)
sys.path.insert(0, str(Path(__file__).parent))

from seeded_runs import RUNS, seeded_run

if __name__ == "__main__":
    for name in RUNS:
        seeded_run(name, Path(sys.argv[1]) / name)
