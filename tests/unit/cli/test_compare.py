"""`surefoot compare`: from real little runs to tables, files and one clear line for every mistake."""

import csv
import io
import json
from contextlib import redirect_stdout

import numpy as np
import pytest

from surefoot import cli
from surefoot.runs.log_files import read_episodes
from tests.unit.cli.conftest import CLIFF
from tests.unit.comparison.synthetic_runs import write_group


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Six runs of one agent on the windy cliff, three in each of two directories, made by the command."""
    home = tmp_path_factory.mktemp("trained")
    for seed in range(6):
        out = home / ("early" if seed < 3 else "late") / f"seed{seed}"
        run = [
            "--agent",
            "dqn",
            "--eval-every",
            "0",
            "--log-every",
            "50",
            "--seed",
            str(seed),
            "--out",
            str(out),
        ]
        with redirect_stdout(io.StringIO()):
            assert cli.run([*CLIFF, *run]) == 0
    return home


def rows(path):
    return list(csv.DictReader(path.read_text().splitlines()))


def test_runs_are_compared_from_their_directories_to_tables_and_a_figure(run, trained, monkeypatch):
    monkeypatch.chdir(trained)
    code, out, err = run("compare", "early", "late", "--by", "directory", "--last", "0.5")
    assert (code, err) == (0, "")
    for text in (
        "return of training episodes, mean over the last 50 % of steps (higher is better)",
        "95 %, stratified bootstrap",
        "WindyCliff-v0 at 200",
        "directory=early",
        "against directory=early",
        "undecided",
        "fewer than 5 seeds",
    ):
        assert text in out
    written = trained / "comparisons" / "return"
    assert {path.name for path in written.iterdir()} == {
        *("scores.csv", "pairs.csv", "runs.csv", "curves.csv"),
        *("comparison.png", "comparison.svg", "summary.json"),
    }
    for path in written.iterdir():
        assert f"comparisons/return/{path.name}" in out
    expected = {}
    for seed in range(3):
        episodes = read_episodes(trained / "early" / f"seed{seed}")
        expected[str(seed)] = np.mean([row.episode_return for row in episodes if 100 < row.step <= 200])
    found = {
        row["seed"]: float(row["score"]) for row in rows(written / "runs.csv") if "early" in row["group"]
    }
    assert found == pytest.approx(expected)
    assert json.loads((written / "summary.json").read_text())["tasks"] == {"WindyCliff-v0": 200}
    assert run("compare", "early")[0] == 0
    assert (trained / "comparisons" / "return-2" / "summary.json").exists()


def test_flags_choose_metric_groups_baseline_and_place(run, trained, tmp_path, monkeypatch):
    monkeypatch.chdir(trained)
    arguments = ["compare", "early", "la*", "--out", str(tmp_path / "here")]
    of_metric = ["--metric", "info/fell", "--lower-is-better", "--last", "1"]
    groups = ["--by", "agent", "--by", "directory", "--baseline", "dqn directory=late"]
    code, out, _ = run(*arguments, *of_metric, *groups)
    assert code == 0
    assert "info/fell, mean over the last 100 % of steps (lower is better)" in out
    assert [row["group"] for row in rows(tmp_path / "here" / "pairs.csv")] == ["dqn directory=early"]
    code, _, err = run(*arguments)
    assert code == 2
    assert err.startswith("surefoot: --out: ")
    assert "already holds" in err
    assert run(*arguments, "--overwrite")[0] == 0


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], ["runs: nothing to compare (none is named)"]),
        (["nowhere"], ["runs: got nowhere, accepted: directories of runs, of sweeps, or patterns"]),
        (["nowhere-*"], ["runs: got nowhere-*"]),
        (["runs", "--metric", "retrun"], ["--metric: got retrun", "return", "did you mean return?"]),
        (["runs", "--baseline", "uadqn"], ["--baseline: got uadqn, accepted: dqn, qrdqn"]),
        (["runs", "--by", "discont"], ["--by: got discont", "did you mean discount?"]),
        (["runs", "--last", "2"], ["--last: got 2", "numbers above 0, to 1"]),
        (["runs", "--out", "runs/dqn-seed0/config.json"], ["--out: got", "a directory that can be written"]),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2_and_writes_nothing(run, tmp_path, monkeypatch, args, expected):
    monkeypatch.chdir(tmp_path)
    write_group(tmp_path / "runs", [1.0, 2.0], agent="dqn")
    write_group(tmp_path / "runs", [1.0, 2.0], agent="qrdqn")
    code, out, err = run("compare", *args)
    assert (code, out) == (2, "")
    assert err.startswith("surefoot: ")
    assert err.count("\n") == 1
    for text in expected:
        assert text in err
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_help_explains_what_is_compared(run):
    code, out, _ = run("compare", "--help")
    assert code == 0
    for text in ("RUN", "--metric", "--last FRACTION", "--by NAME", "--baseline LABEL", "--lower-is-better"):
        assert text in out
