"""A sweep in this process, for experiments that train runs."""

import pytest

from surefoot import cli
from surefoot.sweeps.runner import Phase, run_directory, run_sweep


class FinishedWorker:
    def __init__(self, code):
        self.code = code

    def exit_code(self):
        return self.code

    def stop(self):
        pass


class InlineEngine:
    """Runs the command in this process, so that programs are compiled once for all runs."""

    slots = 1

    def start(self, arguments, log):
        log.parent.mkdir(exist_ok=True)
        log.touch()
        return FinishedWorker(cli.run(arguments))

    def close(self):
        pass


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    """Runs a plan to its end; returns the directories of its runs by name."""
    monkeypatch.setattr("surefoot.sweeps.runner.POLL_SECONDS", 0)

    def run(plan):
        ended = run_sweep(plan, tmp_path / "sweep", InlineEngine())
        assert {each.phase for each in ended} == {Phase.DONE}
        return {each.name: run_directory(tmp_path / "sweep", each) for each in plan}

    return run
