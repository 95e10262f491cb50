"""`surefoot audit`: its report, strict verdicts, recalibration that is saved, and mistakes."""

import json
import re

import numpy as np
import pytest

import surefoot
from surefoot import statistics
from tests.small_models import quick_with
from tests.unit.cli.conftest import CLIFF

pytestmark = pytest.mark.usefixtures("in_empty_directory", "few_resamples")
SMALL = ["--episodes", "16", "--states", "32", "--continuations", "4"]


@pytest.fixture
def few_resamples(monkeypatch):
    monkeypatch.setattr(statistics, "RESAMPLES", 50)


@pytest.fixture
def trained(run):
    assert run(*CLIFF, "--agent", "uadqn", "--auxiliary-networks", "2", "--out", "mine")[0] == 0
    return run


def test_a_report_is_one_page_that_needs_no_other_with_pictures_and_numbers(trained, in_empty_directory):
    code, out, _ = trained("audit", "mine", *SMALL, "--out", "report", "--env-other", CLIFF[2])
    assert code == 0
    assert "coverage of the central 80% interval" in out
    assert "targets shared: epistemic uncertainty is one-step" in out.replace("\n", " ")
    report = in_empty_directory / "report"
    page = (report / "audit.html").read_text()
    assert re.findall(r'src="(?!data:image/png;base64,)', page) == []
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    found = json.loads((report / "audit.json").read_text())
    assert {each["name"] for each in found["claims"]} >= {"believed / actual spread of returns"}
    assert any("one-step" in caveat for caveat in found["caveats"])
    assert f"AUROC, visited or {CLIFF[2]}" in found["sections"]["novelty"]["measured"]
    pictures = {path.name for path in report.glob("*.png")}
    assert pictures == {"aleatoric.png", "epistemic.png", "novelty.png", "risk_coverage.png"}
    assert page.count("data:image/png") == 4
    code, _, err = trained("audit", "mine", *SMALL, "--out", "report")
    assert code == 2
    assert "already holds audit.json, accepted: another directory, or overwrite" in err


def test_strict_fails_where_a_claim_does_not_hold(trained):
    assert trained("audit", "mine", *SMALL, "--strict")[0] == 1


def test_a_recalibration_is_saved_with_the_model(trained, in_empty_directory):
    code, out, _ = trained("audit", "mine", *SMALL, "--recalibrate")
    assert code == 0
    assert "recalibration saved with mine/checkpoints" in out
    model = surefoot.load(in_empty_directory / "mine")
    assert model.recalibration.episodes == 8
    assert model.beliefs(np.zeros(11, np.float32)).is_recalibrated
    assert trained("evaluate", "mine", "--episodes", "2")[0] == 0


@pytest.mark.parametrize("agent", quick_with("qrdqn"))
def test_every_agent_is_audited_for_what_it_has(run, agent, in_empty_directory):
    run(*CLIFF, "--agent", agent, "--out", "mine")
    code, out, _ = run("audit", "mine", *SMALL, "--which", "last", "--out", "report")
    assert code == 0
    assert ("this agent has no" in out) == (agent != "uadqn")
    found = json.loads((in_empty_directory / "report" / "audit.json").read_text())
    names = {each["name"] for each in found["claims"]}
    assert ("coverage of the central 80% interval" in names) == (agent in {"qrdqn", "uadqn"})
    assert any("epistemic" in name for name in names) == (agent in {"bootstrapped", "uadqn"})


def test_mistakes_are_one_line(run):
    cases = {
        (): "RUN: got nothing, accepted: a run, or --sb3 FILE",
        ("missing",): "missing: does not exist",
        ("--sb3", "model.zip", "--env", "CartPole-v1"): "--trust-pickle",
    }
    for args, message in cases.items():
        code, _, err = run("audit", *args)
        assert code == 2
        assert message in err
        assert err.count("\n") == 1
    assert "unpickles it, which can run any code" in err
