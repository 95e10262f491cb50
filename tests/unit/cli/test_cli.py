"""The command: help, results on disk, exit codes, and one clear line for every mistake."""

import json

import pytest

import surefoot
from surefoot.cli import reproduce

QUICK = ["reproduce", "propositions", "--seeds", "1", "--steps", "200"]


def test_version(run):
    assert run("--version") == (0, f"surefoot {surefoot.__version__}\n", "")


@pytest.mark.parametrize("args", [["--help"], [], ["reproduce", "--help"], ["reproduce", "toy", "--help"]])
def test_help_explains_and_succeeds(run, args):
    code, out, _ = run(*args)
    assert code == 0
    assert "usage: surefoot" in out


def test_help_of_an_experiment_lists_its_settings_with_defaults(run):
    _, out, _ = run("reproduce", "toy", "--help")
    for words in ("--seeds INT", "--steps INT", "--out DIR", "--strict", "(default: 10000)"):
        assert words in out


def test_reproduce_writes_summary_data_and_figures(run, tmp_path):
    code, out, _ = run(*QUICK, "--out", str(tmp_path / "new" / "here"))
    assert code == 0
    files = {path.name for path in (tmp_path / "new" / "here").iterdir()}
    assert files == {"summary.json", "data.csv", "closed_form.csv", "propositions.png", "propositions.svg"}
    for name in files:
        assert name in out
    summary = json.loads((tmp_path / "new" / "here" / "summary.json").read_text())
    assert summary["experiment"] == "propositions"
    assert (summary["seeds"], summary["steps"]) == (1, 200)
    assert summary["settings"] == {"seeds": 1, "steps": 200}
    for claim in summary["claims"]:
        assert {"name", "paper", "measured", "interval", "verdict"} <= set(claim)
        assert claim["verdict"] in {"holds", "fails", "undecided"}


def test_claims_table_shows_every_claim_and_verdict(run, tmp_path):
    _, out, _ = run(*QUICK, "--out", str(tmp_path))
    summary = json.loads((tmp_path / "summary.json").read_text())
    lines = [line.split() for line in out.splitlines()]
    verdicts = [words[-1] for words in lines if words and words[-1] in {"holds", "fails", "undecided"}]
    assert verdicts == [claim["verdict"] for claim in summary["claims"]]


def test_a_narrow_terminal_gets_a_list_in_which_nothing_is_lost(run, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "TABLE_WIDTH", 1_000)
    _, out, _ = run(*QUICK, "--out", str(tmp_path))
    for each in json.loads((tmp_path / "summary.json").read_text())["claims"]:
        assert f"{each['verdict']}: {each['name']}" in out


def test_strict_fails_unless_every_claim_holds(run, tmp_path):
    """200 simulated pairs are too few to decide; none of the claims is false."""
    code, _, _ = run(*QUICK, "--strict", "--out", str(tmp_path))
    verdicts = {each["verdict"] for each in json.loads((tmp_path / "summary.json").read_text())["claims"]}
    assert verdicts == {"holds", "undecided"}
    assert code == 1


def test_equal_commands_write_equal_files(run, tmp_path):
    for name in ("a", "b"):
        run(*QUICK, "--out", str(tmp_path / name))
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_without_out_each_run_gets_a_new_directory(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(3):
        assert run(*QUICK)[0] == 0
    names = {path.name for path in (tmp_path / "reproductions").iterdir()}
    assert names == {"propositions", "propositions-2", "propositions-3"}


def test_results_are_not_overwritten_unless_asked(run, tmp_path):
    run(*QUICK, "--out", str(tmp_path))
    before = (tmp_path / "summary.json").read_bytes()
    more = [*QUICK[:-1], "300"]
    code, out, err = run(*more, "--out", str(tmp_path))
    assert (code, out) == (2, "")
    assert err.startswith(f"surefoot: --out: {tmp_path} already holds data.csv, ")
    assert err.endswith("summary.json, accepted: another directory, or --overwrite\n")
    assert (tmp_path / "summary.json").read_bytes() == before
    assert run(*more, "--out", str(tmp_path), "--overwrite")[0] == 0
    assert json.loads((tmp_path / "summary.json").read_text())["steps"] == 300


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["nonsense"], ["nonsense", "reproduce"]),
        (["reproduce"], ["propositions, toy, widths, cliff"]),
        (["reproduce", "toyy"], ["toyy", "propositions, toy, widths, cliff"]),
        (["reproduce", "toy", "--seeds", "many"], ["--seeds", "'many'", "INT"]),
        (["reproduce", "toy", "--seeds", "0"], ["--seeds", "got 0", "from 1"]),
        (["reproduce", "toy", "--steps", "-5"], ["--steps", "got -5", "from 1"]),
        (["reproduce", "toy", "--learning-rate", "nan"], ["--learning-rate", "got nan", "above 0"]),
        (["reproduce", "toy", "--steps"], ["--steps"]),
        (["reproduce", "toy", "--sed", "3"], ["--sed", "--seeds"]),
        (["reproduce", "propositions", "--steps", "5"], ["--steps", "got 5", "from 100"]),
        (["reproduce", "widths", "--widths", "10", "20"], ["--widths", "got 10 20", "10 and 100"]),
        (["reproduce", "widths", "--widths", "10", "100", "10"], ["--widths", "got 10 100 10", "different"]),
        (["reproduce", "widths", "--widths"], ["--widths", "10 and 100"]),
        (["reproduce", "minatar", "--games", "pong"], ["--games", "got pong", "breakout, freeway"]),
        (["reproduce", "minatar", "--agents", "ppo"], ["--agents", "got ppo", "dqn, qrdqn"]),
        (["reproduce", "minatar", "--seeds", "0"], ["--seeds", "got 0", "from 1"]),
        (["reproduce", "search", "--steps", "0"], ["--steps", "got 0", "from 1"]),
        (["sweep", "none.toml"], ["none.toml", "a plan in TOML"]),
    ],
)
def test_a_mistake_is_one_clear_line_and_exit_code_2(run, tmp_path, monkeypatch, args, words):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert err.startswith("surefoot: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err
    assert not list(tmp_path.iterdir())


def test_an_out_that_is_a_file_is_refused_and_kept(run, tmp_path):
    file = tmp_path / "file"
    file.write_text("precious")
    code, _, err = run(*QUICK, "--out", str(file))
    assert code == 2
    assert err.startswith(f"surefoot: --out: got {file}, accepted: a directory")
    assert err.count("\n") == 1
    assert file.read_text() == "precious"


def test_an_interruption_is_one_line(run, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce.report, "write", interrupted)
    code, _, err = run(*QUICK, "--out", str(tmp_path))
    assert code == 130
    assert err.endswith("surefoot: interrupted\n")


PLAN = '[[runs]]\nenv = "surefoot/WindyCliff-v0"\nsteps = 10\n'


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--jobs", "0"], ["--jobs", "got 0", "from 1"]),
        (["--address", "10.0.0.1:6379"], ["--address", "accepted: --engine ray"]),
        (["--engine", "ray", "--address", ""], ["--address", "got nothing", "HOST:PORT"]),
        (["--engine", "ray", "--address", "local"], ["--address", "got local", "HOST:PORT"]),
        (["--engine", "ray", "--address", "ray://10.0.0.1:10001"], ["--address", "HOST:PORT"]),
        (["--engine", "slurm"], ["--engine", "slurm", "local"]),
    ],
)
@pytest.mark.parametrize("command", [["sweep", "plan.toml"], ["reproduce", "cliff", "--seeds", "1"]])
def test_a_sweep_with_nobody_to_carry_it_out_is_refused(run, tmp_path, monkeypatch, command, args, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    code, out, err = run(*command, *args)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for word in words:
        assert word in err
    assert not list(tmp_path.rglob("ledger.jsonl"))
