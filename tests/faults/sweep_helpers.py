"""The ledger of a sweep, and waiting for what a sweep does."""

import json
import time
from collections import Counter

from surefoot.sweeps.ledger import LEDGER
from tests.faults.helpers import finished


def ledger_lines(sweep_dir):
    """The lines of a sweep's ledger; none before it begins."""
    path = sweep_dir / LEDGER
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def done_counts(sweep_dir):
    """How often each run was recorded as done."""
    return Counter(line["run"] for line in ledger_lines(sweep_dir) if line["event"] == "done")


def wait_until(condition, process, seconds=120):
    """Wait until a condition holds, which must be while the process still runs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, finished(process)
        assert time.monotonic() < deadline
        time.sleep(0.02)
