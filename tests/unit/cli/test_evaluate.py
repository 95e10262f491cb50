"""`surefoot evaluate`: risk at evaluation, damaged checkpoints, directories of runs, endless episodes."""

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
