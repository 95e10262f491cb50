"""`surefoot evaluate`: risk at evaluation, damaged checkpoints, directories of runs, endless episodes."""

import csv
import re

import pytest

from tests.unit.cli.conftest import CLIFF

pytestmark = pytest.mark.usefixtures("in_empty_directory")


def test_risk_at_evaluation_needs_no_training(run):
    run(*CLIFF, "--out", "mine")
    for risk in (["--risk-aversion", "0.5"], ["--risk", "mean-sd:0.5"], ["--risk", "mean"]):
        assert run("evaluate", "mine", "--episodes", "2", *risk)[0] == 0
    code, _, err = run("evaluate", "mine", "--risk", "mean-sd:1", "--risk-aversion", "2")
    assert code == 2
    assert "--risk: got mean-sd:1 and --risk-aversion 2, accepted: one of the two" in err
    run(*CLIFF, "--agent", "dqn", "--out", "plain")
    for neutral in (["--risk", "mean"], ["--risk-aversion", "0"]):
        assert run("evaluate", "plain", "--episodes", "2", *neutral)[0] == 0
    code, _, err = run("evaluate", "plain", "--episodes", "2", "--risk-aversion", "0.5")
    assert code == 2
    assert "without aleatoric uncertainty" in err


def test_a_damaged_newest_checkpoint_is_reported(run, in_empty_directory):
    run(*CLIFF, "--agent", "dqn", "--checkpoint-every", "100", "--eval-every", "0", "--out", "mine")
    newest = in_empty_directory / "mine" / "checkpoints" / "step_000000200" / "learner.safetensors"
    newest.write_bytes(b"")
    for which in ("last", "best"):
        code, out, err = run("evaluate", "mine", "--episodes", "1", "--which", which)
        assert code == 0
        assert "step_000000100" in out
        assert "step_000000200/learner.safetensors: 0 bytes" in err
        assert "an older checkpoint is used, that of step 100" in err


def test_a_directory_of_runs_is_refused_with_one_of_them(run):
    for name in ("one", "two"):
        run(*CLIFF, "--agent", "dqn", "--steps", "20", "--out", f"many/{name}")
    code, _, err = run("evaluate", "many")
    assert code == 2
    assert "many: holds 2 runs, accepted: one of them, such as many/one" in err


def test_episodes_that_are_cut_off_are_reported(run):
    run(*CLIFF, "--agent", "dqn", "--out", "mine")
    code, out, _ = run("evaluate", "mine", "--episodes", "4", "--max-episode-steps", "1")
    assert code == 0
    assert "cut off: 4 of 4 episodes had not ended after 1 steps" in out


def test_believed_is_printed_beside_realised(run):
    run(*CLIFF, "--agent", "qrdqn", "--quantiles", "20", "--discount", "0.9", "--out", "mine")
    code, out, _ = run("evaluate", "mine", "--episodes", "40", "--risk", "cvar:0.1")
    assert code == 0
    number = r"-?[\d.]+"
    found = re.search(
        rf"risk cvar:0.1: believed {number} at the start, realised ({number}) \((.*), 95 %\)(.*)", out
    )
    assert found[3] == ", returns discounted by 0.9"
    # An agent that never arrives pays 1 for each of 15 steps; one that falls at once, 1.
    assert -sum(0.9**time for time in range(15)) - 1e-3 <= float(found[1]) <= -1
    _, out, _ = run("evaluate", "mine", "--episodes", "4", "--risk", "cvar:0.1")
    assert "(too few episodes for an interval)" in out
    code, _, err = run("evaluate", "mine", "--risk", "cvar:0.05")
    assert code == 2
    assert "risk: got cvar:0.05 for 20 quantiles" in err
    assert "accepted: cvar:ALPHA from 0.1 (2/20), or more quantiles" in err


def test_a_frontier_is_printed_and_written(run, in_empty_directory):
    run(*CLIFF, "--agent", "qrdqn", "--quantiles", "12", "--out", "mine")
    code, out, _ = run("evaluate", "mine", "--frontier", "--episodes", "3")
    assert code == 0, out
    home = in_empty_directory / "evaluations" / "frontier-mine"
    endings = {path.name.removeprefix("frontier.") for path in home.iterdir()}
    assert endings == {"csv", "png", "svg", "summary.json"}
    rows = list(csv.DictReader((home / "frontier.csv").read_text().splitlines()))
    # Finer tails than 12 quantiles resolve are left out.
    assert [row["attitude"] for row in rows] == ["mean", "cvar:0.8", "cvar:0.6", "cvar:0.4", "cvar:0.25"]
    assert all(row["attitude"] in out for row in rows)
    assert {"mean", "cvar", "believed", "realised", "event_fell", "event_fell_high"} <= set(rows[0])
    code, _, err = run("evaluate", "mine", "--frontier", "--out", str(home))
    assert code == 2
    assert "already holds frontier.csv, frontier.png, frontier.svg, summary.json" in err
    for flags, says in (
        (["--risk", "pessimism"], "for an agent without epistemic uncertainty"),
        (["--risk", "cvar:0.1"], "risk: got cvar:0.1, accepted: mean-sd, cvar, wang"),
        (["--risk-aversion", "1"], "with --frontier, accepted: --risk mean-sd"),
    ):
        code, _, err = run("evaluate", "mine", "--frontier", *flags)
        assert code == 2
        assert says in err


def test_an_agent_trains_by_any_measure_and_objective(run):
    code, _, err = run(
        *(*CLIFF, "--agent", "qrdqn", "--quantiles", "8", "--risk", "cvar:0.5", "--objective", "static"),
        *("--min-return", "-15", "--max-return", "9", "--out", "mine"),
    )
    assert code == 0, err
    code, out, _ = run("evaluate", "mine", "--episodes", "2")
    assert code == 0
    assert "risk cvar:0.5: believed" in out
    code, _, err = run("train", "--resume", "mine", "--steps", "220")
    assert code == 0, err
    code, _, err = run(*CLIFF, "--agent", "qrdqn", "--quantiles", "8", "--risk", "cvar:0.1", "--out", "other")
    assert code == 2
    assert "risk: got cvar:0.1 for 8 quantiles" in err
