"""Every seeded result of the revision that made the golden files comes out again."""

import csv
import json
from pathlib import Path

import jax
import pytest

from surefoot.agents.presets import resolve_settings
from tests.golden.seeded_runs import RUNS, seeded_run

DATA = Path(__file__).parent / "data"
TOLERANCE = 1e-6
"""Far above rounding in double precision, far below any change of the algorithm."""


@pytest.fixture
def double_precision():
    with jax.enable_x64(True):
        yield


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


REPETITIONS = {"dqn-compiled", "qrdqn-hosted", "bootstrapped-hosted"}
"""Runs of an agent or a driver that other runs have too, left to `make soak`."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in REPETITIONS)) for name in RUNS]
)
@pytest.mark.usefixtures("double_precision")
def test_a_seeded_run_is_what_it_was(name, tmp_path):
    seeded_run(name, tmp_path)
    for found, wanted in zip(
        lines_of(tmp_path / "metrics.jsonl"), lines_of(DATA / name / "metrics.jsonl"), strict=True
    ):
        assert found == pytest.approx(wanted, rel=TOLERANCE)
    with (tmp_path / "episodes.csv").open() as found, (DATA / name / "episodes.csv").open() as wanted:
        assert list(csv.reader(found)) == list(csv.reader(wanted))
    found, wanted = (json.loads((each / "beliefs.json").read_text()) for each in (tmp_path, DATA / name))
    for field, values in wanted.items():
        assert found[field] == (None if values is None else pytest.approx(values, rel=TOLERANCE))
    found, wanted = (json.loads((each / "config.json").read_text()) for each in (tmp_path, DATA / name))
    for config in (found, wanted):
        # Settings that have another name since: both say the same of the agent.
        config["settings"] = vars(resolve_settings(config["agent"], config["preset"], config["settings"]))
    assert {key: found[key] for key in wanted} == wanted
