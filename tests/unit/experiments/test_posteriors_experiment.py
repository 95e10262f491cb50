"""The comparison of posteriors: a short one, what is stored, and its claims."""

import json
from threading import Event

import numpy as np
import pytest

from surefoot.claims import Verdict
from surefoot.experiments import parts as stored_parts
from surefoot.experiments import posterior_tasks, posteriors, toy
from surefoot.experiments.parts import Part, Parts


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(toy, "HIDDEN_WIDTHS", (6,))
    monkeypatch.setattr(posterior_tasks, "SIX_POINTS_WIDTH", 6)
    monkeypatch.setattr(posterior_tasks, "HELD_OUT", 20)


CONFIG = posteriors.Config(seeds=1, steps=20, posteriors="anchored,ensemble")


@pytest.mark.usefixtures("small")
def test_a_short_comparison_is_stored_and_only_what_is_missing_is_computed(tmp_path, monkeypatch):
    progress = []
    outcome = posteriors.run(CONFIG, progress.append, Parts(tmp_path))
    assert sum(progress) == pytest.approx(1)
    assert {len(column) for column in outcome.tables["means"].values()} == {4}
    assert all(np.all(np.isfinite(outcome.tables["means"][name])) for name in posteriors.SCORES)
    stored = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert stored == [
        "six-points-anchored-seed0.json",
        "six-points-ensemble-seed0.json",
        "toy-anchored-seed0.json",
        "toy-ensemble-seed0.json",
    ]
    (tmp_path / "parts" / stored[3]).write_text("{")  # Damaged: it is computed again.
    fitted = []
    fit_toy = posterior_tasks.TASKS["toy"].fit
    monkeypatch.setitem(
        posterior_tasks.TASKS,
        "toy",
        posterior_tasks.TASKS["toy"]._replace(fit=lambda *given: fitted.append(given[0]) or fit_toy(*given)),
    )
    again = posteriors.run(CONFIG, progress.append, Parts(tmp_path))
    assert fitted == ["ensemble"]
    assert sum(progress) == pytest.approx(2)
    for name, column in outcome.tables["data"].items():
        if name != "seconds_per_update":
            np.testing.assert_array_equal(column, again.tables["data"][name])


def test_parts_with_other_settings_are_computed_again(tmp_path):
    parts, calls = Parts(tmp_path), []

    def compute():
        calls.append(None)
        return {"t": {"x": np.array([1.5, np.nan]), "name": np.array(["a", "b"])}}

    first = parts.tables("one", {"steps": 1}, compute)
    again = parts.tables("one", {"steps": 1}, compute)
    assert len(calls) == 1
    np.testing.assert_array_equal(first["t"]["x"], again["t"]["x"])
    assert again["t"]["name"].tolist() == ["a", "b"]
    parts.tables("one", {"steps": 2}, compute)
    assert len(calls) == 2


def test_an_error_stops_the_parts_that_are_under_way_and_keeps_what_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(stored_parts, "available_cores", lambda: [0, 1])
    started, failed = Event(), Event()

    def done(advance):
        advance(1.0)
        return {"t": {"x": np.ones(1)}}

    def fails(_advance):
        started.wait()
        failed.set()
        raise OSError("no disk")

    def goes_on(advance):
        started.set()
        failed.wait()
        while True:
            advance(0.0)

    work = [Part(compute.__name__, {}, compute) for compute in (done, fails, goes_on, done)]
    with pytest.raises(OSError, match="no disk"):
        Parts(tmp_path).all_tables(work, lambda _: None)
    assert (tmp_path / "parts" / "done.json").exists()


def synthetic_table(far, aleatoric):
    return {
        "task": np.full(4, "toy"),
        "posterior": np.full(4, "mine"),
        "seed": np.arange(4),
        "epistemic_near": np.array([0.1, 0.11, 0.09, 0.1]),
        "epistemic_far": np.full(4, far),
        "aleatoric_near": np.array([aleatoric, aleatoric + 0.01, aleatoric - 0.01, aleatoric]),
    }


@pytest.mark.parametrize(
    ("far", "aleatoric", "expected"),
    [
        (1.0, 0.333, [Verdict.HOLDS, Verdict.HOLDS]),
        (0.1, 0.333, [Verdict.FAILS, Verdict.HOLDS]),
        (1.0, 0.6, [Verdict.HOLDS, Verdict.FAILS]),
    ],
)
def test_a_posterior_satisfies_the_papers_two_sentences_or_does_not(far, aleatoric, expected):
    assert [each.verdict for each in posteriors.claims(synthetic_table(far, aleatoric))] == expected


@pytest.mark.usefixtures("small")
@pytest.mark.slow
def test_the_same_command_continues_a_comparison(run, tmp_path):
    given = ["--seeds", "1", "--steps", "10", "--posteriors", "ensemble", "--out", str(tmp_path / "out")]
    assert run("reproduce", "posteriors", *given)[0] == 0
    written = (tmp_path / "out" / "parts" / "toy-ensemble-seed0.json").read_text()
    assert run("reproduce", "posteriors", *given)[0] == 0
    assert (tmp_path / "out" / "parts" / "toy-ensemble-seed0.json").read_text() == written
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert {each["verdict"] for each in summary["claims"]} == {"undecided"}
