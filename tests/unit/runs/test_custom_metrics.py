"""A user's own numbers in a run's log."""

import sys

import numpy as np
import pytest

import surefoot
from surefoot.errors import UserError
from surefoot.runs.custom_metrics import resolve_probe
from surefoot.runs.log_files import read_metrics
from tests.small_models import QUICK

PROBES = """
import numpy as np

number = 3


def best_value(model):
    values = model.beliefs(np.zeros(4, np.float32)).mean
    return {"mine/best_value": values.max(), "mine/step": model.num_timesteps}

def no_numbers(model):
    return {"mine/word": "high"}

def nothing(model):
    return None
"""


@pytest.fixture(autouse=True)
def module(tmp_path, monkeypatch):
    """A module of the user's, new for each test."""
    (tmp_path / "my_probes.py").write_text(PROBES)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("my_probes", None)


def seen(path):
    return [
        (line["mine/step"], line["mine/best_value"]) for line in read_metrics(path) if "mine/step" in line
    ]


@pytest.mark.parametrize(
    "name", ["my_probes", "my_probes:", ":best_value", "my_probes:absent", "nowhere:look", len]
)
def test_a_name_that_leads_nowhere_is_refused_in_one_line(name):
    with pytest.raises(UserError, match=r"^probe: got .*accepted: package\.module:function, importable$"):
        resolve_probe(name)


def test_what_is_no_function_is_refused():
    with pytest.raises(UserError, match=r"^probe: got my_probes:number, accepted: a function of a model$"):
        resolve_probe("my_probes:number")


def test_a_bad_name_leaves_no_run_behind(tmp_path):
    model = surefoot.DQN("CartPole-v1", **QUICK)
    with pytest.raises(UserError, match=r"^probe: "):
        model.learn(40, out=tmp_path / "run", probe="my_probes:absent", progress=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["no_numbers", "nothing"])
def test_what_it_returns_must_be_numbers_by_name(name):
    with pytest.raises(UserError, match=rf"^probe: my_probes:{name} returned .*, accepted: numbers by name$"):
        resolve_probe(f"my_probes:{name}")(None)


def test_numbers_are_logged_and_go_on_after_a_resume_as_if_never_stopped(tmp_path):
    def learn(steps, out):
        options = {"out": out, "probe": "my_probes:best_value", "log_every": 20, "progress": False}
        return surefoot.DQN("CartPole-v1", seed=1, **QUICK).learn(steps, **options)

    learn(120, tmp_path / "whole")
    learn(60, tmp_path / "stopped")
    surefoot.resume(tmp_path / "stopped", 120, progress=False)
    whole = seen(tmp_path / "whole")
    assert [step for step, _ in whole] == [20, 40, 60, 80, 100, 120]
    assert len({value for _, value in whole}) > 3  # It looks at a model that learns.
    np.testing.assert_array_equal(seen(tmp_path / "stopped"), whole)
