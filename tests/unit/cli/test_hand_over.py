"""`surefoot evaluate --hand-over`: its table, its files, what it refuses."""

import csv
import json
import re

import pytest

import surefoot
from surefoot.cautious import Cautious
from tests.unit.cli.conftest import CLIFF

pytestmark = pytest.mark.usefixtures("in_empty_directory")

SAFE = "surefoot.envs.windy_cliff:safe_action"
FEW = ["--episodes", "4"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model that was trained behind the gate of the cliff."""
    from tests.small_models import QUICK

    path = tmp_path_factory.mktemp("runs") / "behind"
    env = {"far_columns": 4}
    model = surefoot.UADQN("surefoot/WindyCliff-v0", env_kwargs=env, **QUICK)
    model.learn(60, out=path, eval_every=None, progress=False)
    return str(path)


def test_the_same_episodes_are_shown_with_and_without_and_drawn(run, trained, tmp_path):
    out = tmp_path / "curve"
    hand_over = ["--hand-over", "1", "--fallback", SAFE, "--env-kwargs", '{"far_starts": 1}']
    code, text, err = run("evaluate", trained, *FEW, *hand_over, "--out", str(out))
    assert code == 0, err
    assert f"4 episodes, fallback {SAFE}" in text
    # From far the safe path takes ten steps and returns 0, whatever the wind.
    assert re.search(r"1 \*\s+-inf\s+100.0% of steps\s+0 \(0 to 0\)", text)
    without = surefoot.load(trained).evaluate(
        4, env=surefoot.envs.windy_cliff.make(surefoot.envs.windy_cliff.Config(far_columns=4, far_starts=1.0))
    )
    with (out / "hand_over.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["quantity"] == "return"]
    assert [float(row["budget"]) for row in rows] == [0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
    assert float(rows[0]["measured"]) == pytest.approx(without.mean)
    assert (float(rows[0]["rate"]), float(rows[-1]["rate"])) == (0, 1)
    for name in ("hand_over.png", "hand_over.svg"):
        assert (out / name).stat().st_size > 5_000
    loaded = Cautious.load(out, surefoot.load(trained), "random")
    assert loaded.budget == json.loads((out / "cautious.json").read_text())["budget"] == 1
    code, _, err = run("evaluate", trained, *FEW, *hand_over, "--out", str(out))
    assert code == 2
    assert "--out: " in err
    assert "already holds hand_over.csv, hand_over.png, hand_over.svg, summary.json" in err


def test_another_run_takes_over(run, trained):
    code, text, err = run("evaluate", trained, *FEW, "--hand-over", "0.1", "--fallback", trained)
    assert code == 0, err
    means = set(re.findall(r"of steps\s+(-?[\d.]+) \(", text))
    assert len(means) == 1  # The fallback is the agent itself.


def test_the_changed_environment_is_that_of_the_plain_evaluation_too(run, trained):
    code, text, _ = run(
        "evaluate", trained, *FEW, "--env-kwargs", '{"wind": 1.0, "far_starts": 1.0, "far_wind": 1.0}'
    )
    assert code == 0
    expected = surefoot.load(trained).evaluate(
        4,
        env=surefoot.envs.windy_cliff.make(
            surefoot.envs.windy_cliff.Config(far_columns=4, wind=1.0, far_starts=1.0, far_wind=1.0)
        ),
    )
    assert f"return: mean {expected.mean:.4g} " in text


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--hand-over", "2"], "budget: got 2.0, accepted: a share from 0 to 1"),
        (["--hand-over", "0.1", "--fallback", "nobody"], "--fallback: got nobody, accepted: random, a run"),
        (
            ["--hand-over", "0.1", "--fallback", "json:nothing"],
            "--fallback: got json:nothing (AttributeError",
        ),
        (["--env-kwargs", "[]"], "--env-kwargs: got [], accepted: a JSON object"),
        (["--env-kwargs", '{"far_columns": 5}'], "has observation_space"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(run, trained, flags, message):
    code, _, err = run("evaluate", trained, *FEW, *flags)
    assert code == 2
    assert message in err
    assert len(err.strip().splitlines()) == 1


def test_an_agent_that_does_not_know_what_it_has_not_learned_is_refused(run):
    run(*CLIFF, "--agent", "qrdqn", "--out", "plain")
    code, _, err = run("evaluate", "plain", "--hand-over", "0.1")
    assert code == 2
    assert "QRDQN, without epistemic uncertainty, accepted: an agent that has" in err
