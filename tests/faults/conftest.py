"""Injected faults: how many of each, and what they reached, as a table at the end of `make soak`."""

import os
from collections import Counter

import pytest

import surefoot
from tests.small_models import CLIFF, QUICK

SOAK = os.environ.get("SUREFOOT_SOAK") == "1"

ROWS = "reliability rows"


@pytest.fixture(scope="module")
def model():
    """A model that has learned a little."""
    return surefoot.UADQN(CLIFF, seed=3, **QUICK).learn(40, progress=False)


@pytest.fixture
def amount():
    """How many faults to inject: a few in CI, many in a soak."""
    return lambda few, many: many if SOAK else few


@pytest.fixture
def reached(record_property):
    """Put a line into the table: the fault, what was injected, what held."""
    return lambda fault, injected, held: record_property(ROWS, (fault, injected, held))


def pytest_terminal_summary(terminalreporter):
    rows = [
        value
        for report in terminalreporter.getreports("passed")
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == ROWS
    ]
    if rows and SOAK:
        terminalreporter.section("reliability")
        terminalreporter.write_line("| fault | injected | held |")
        terminalreporter.write_line("|---|---|---|")
        for fault in sorted({row[0] for row in rows}):
            for held in sorted({row[2] for row in rows if row[0] == fault}):
                counts = Counter(row[1] for row in rows if (row[0], row[2]) == (fault, held))
                injected = "; ".join(f"{n} x {what}" if n > 1 else what for what, n in sorted(counts.items()))
                terminalreporter.write_line(f"| {fault} | {injected} | {held} |")
