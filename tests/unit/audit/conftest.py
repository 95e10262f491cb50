"""Fewer resamples: intervals in tests need not be exact in their ends."""

import pytest

from surefoot import statistics


@pytest.fixture(scope="session", autouse=True)
def few_resamples():
    before, statistics.RESAMPLES = statistics.RESAMPLES, 200
    yield
    statistics.RESAMPLES = before
