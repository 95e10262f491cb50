"""A long run in a process of its own: how often it compiled and how its memory grew, as a line of JSON.

Usage: python -m tests.faults.long_run ENV BEGIN UPDATES OUT. What happens before step BEGIN does not count.
"""

import json
import os
import sys
from pathlib import Path

import jax.monitoring

import surefoot
from tests.small_models import QUICK


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main(env, begin, updates, out):
    compiled, seen = [], {}
    jax.monitoring.register_event_duration_secs_listener(
        lambda name, *_, **__: compiled.append(name) if "backend_compile" in name else None
    )

    def watch(progress):
        if progress.step in {begin, progress.end}:
            seen[progress.step] = (len(compiled), resident_bytes())

    plan = {"log_every": 1_000, "eval_every": 5_000, "eval_episodes": 1, "checkpoint_every": 10_000}
    model = surefoot.DQN(env, seed=0, **QUICK)
    model.learn(begin + updates, out=out, callbacks=watch, progress=False, **plan)
    (compiled_before, before), (compiled_after, after) = seen[begin], seen[begin + updates]
    sys.stdout.write(
        json.dumps({"compiled": compiled_after - compiled_before, "grown_bytes": after - before}) + "\n"
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
