"""What the ledger of a sweep contains."""

import json
from collections import Counter

from surefoot.sweeps.ledger import LEDGER


def ledger_lines(sweep_dir):
    """The lines of a sweep's ledger; none before it begins."""
    path = sweep_dir / LEDGER
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def done_counts(sweep_dir):
    """How often each run was recorded as done."""
    return Counter(line["run"] for line in ledger_lines(sweep_dir) if line["event"] == "done")
