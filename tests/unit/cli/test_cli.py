"""The command: help, results on disk, exit codes, and one clear line for every mistake."""

import io
import json
from contextlib import redirect_stdout

import pytest

import surefoot
from surefoot import cli
from surefoot.cli import claims, reproduce
from surefoot.figures import style

QUICK = ["reproduce", "propositions", "--seeds", "1", "--steps", "200"]


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """A finished experiment: its directory, and what the command printed."""
    directory = tmp_path_factory.mktemp("reproduced") / "new" / "here"
    with redirect_stdout(io.StringIO()) as printed:
        assert cli.run([*QUICK, "--out", str(directory)]) == 0
    return directory, printed.getvalue()


@pytest.fixture
def figures_not_drawn(monkeypatch):
    """Empty files instead of figures, because drawing takes most of the time."""
    monkeypatch.setattr(style, "save", lambda _, path: path.touch())


def test_version(run):
    assert run("--version") == (0, f"surefoot {surefoot.__version__}\n", "")


@pytest.mark.parametrize("args", [["--help"], [], ["reproduce", "--help"], ["reproduce", "toy", "--help"]])
def test_help_explains_and_succeeds(run, args):
    code, out, _ = run(*args)
    assert code == 0
    assert "usage: surefoot" in out


def test_help_of_an_experiment_lists_its_settings_with_defaults(run):
    _, out, _ = run("reproduce", "toy", "--help")
    for text in ("--seeds INT", "--steps INT", "--out DIR", "--strict", "(default: 10000)"):
        assert text in out


def test_reproduce_writes_summary_data_and_figures(reproduced):
    directory, printed = reproduced
    files = {path.name for path in directory.iterdir()}
    assert files == {"summary.json", "data.csv", "closed_form.csv", "propositions.png", "propositions.svg"}
    for name in files:
        assert name in printed
    summary = json.loads((directory / "summary.json").read_text())
    assert summary["experiment"] == "propositions"
    assert (summary["seeds"], summary["steps"]) == (1, 200)
    assert summary["settings"] == {"seeds": 1, "steps": 200}
    for claim in summary["claims"]:
        assert {"name", "paper", "measured", "interval", "verdict"} <= set(claim)
        assert claim["verdict"] in {"holds", "fails", "undecided"}


def test_claims_table_shows_every_claim_and_verdict(reproduced):
    directory, printed = reproduced
    summary = json.loads((directory / "summary.json").read_text())
    lines = [line.split() for line in printed.splitlines()]
    verdicts = [words[-1] for words in lines if words and words[-1] in {"holds", "fails", "undecided"}]
    assert verdicts == [claim["verdict"] for claim in summary["claims"]]


@pytest.mark.usefixtures("figures_not_drawn")
def test_on_a_narrow_terminal_claims_are_a_complete_list(run, tmp_path, monkeypatch):
    monkeypatch.setattr(claims, "TABLE_WIDTH", 1_000)
    _, out, _ = run(*QUICK, "--out", str(tmp_path))
    for each in json.loads((tmp_path / "summary.json").read_text())["claims"]:
        assert f"{each['verdict']}: {each['name']}" in out


@pytest.mark.usefixtures("figures_not_drawn")
def test_strict_fails_unless_every_claim_holds(run, tmp_path):
    """200 simulated pairs are too few to decide; none of the claims is false."""
    code, _, _ = run(*QUICK, "--strict", "--out", str(tmp_path))
    verdicts = {each["verdict"] for each in json.loads((tmp_path / "summary.json").read_text())["claims"]}
    assert verdicts == {"holds", "undecided"}
    assert code == 1


def test_equal_commands_write_equal_files(run, tmp_path, reproduced):
    run(*QUICK, "--out", str(tmp_path))
    first = {path.name: path.read_bytes() for path in reproduced[0].iterdir()}
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == first


@pytest.mark.usefixtures("figures_not_drawn")
def test_without_out_each_experiment_gets_a_new_directory(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert run(*QUICK)[0] == 0
    names = {path.name for path in (tmp_path / "reproductions").iterdir()}
    assert names == {"propositions", "propositions-2"}


@pytest.mark.usefixtures("figures_not_drawn")
def test_results_are_not_overwritten_without_overwrite(run, tmp_path):
    run(*QUICK, "--out", str(tmp_path))
    before = (tmp_path / "summary.json").read_bytes()
    more = [*QUICK[:-1], "300"]
    code, out, err = run(*more, "--out", str(tmp_path))
    assert (code, out) == (2, "")
    assert err.startswith(f"surefoot: --out: {tmp_path} already holds data.csv, ")
    assert err.endswith("summary.json, accepted: another directory, or overwrite\n")
    assert (tmp_path / "summary.json").read_bytes() == before
    assert run(*more, "--out", str(tmp_path), "--overwrite")[0] == 0
    assert json.loads((tmp_path / "summary.json").read_text())["steps"] == 300


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["nonsense"], ["nonsense", "reproduce"]),
        (["reproduce"], ["propositions, toy, widths, cliff"]),
        (["reproduce", "toyy"], ["toyy", "propositions, toy, widths, cliff"]),
        (["reproduce", "toy", "--seeds", "many"], ["--seeds", "'many'", "INT"]),
        (["reproduce", "toy", "--seeds", "0"], ["--seeds", "got 0", "from 1"]),
        (["reproduce", "toy", "--steps", "-5"], ["--steps", "got -5", "from 1"]),
        (["reproduce", "toy", "--learning-rate", "nan"], ["--learning-rate", "got nan", "finite numbers"]),
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
def test_a_mistake_is_one_clear_line_and_exit_code_2(run, tmp_path, monkeypatch, args, expected):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(*args)
    assert (code, out) == (2, "")
    assert err.startswith("surefoot: ")
    assert err.count("\n") == 1
    for text in expected:
        assert text in err
    assert not list(tmp_path.iterdir())


def test_a_file_as_out_is_refused_and_not_changed(run, tmp_path):
    file = tmp_path / "file"
    file.write_text("precious")
    code, _, err = run(*QUICK, "--out", str(file))
    assert code == 2
    assert err.startswith(f"surefoot: --out: got {file}, accepted: a directory")
    assert err.count("\n") == 1
    assert file.read_text() == "precious"


def test_an_interruption_is_one_line_and_exit_code_130(run, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce.report, "write", interrupted)
    code, _, err = run(*QUICK, "--out", str(tmp_path))
    assert code == 130
    assert err.endswith("surefoot: interrupted\n")


PLAN = '[[runs]]\nenv = "surefoot/WindyCliff-v0"\nsteps = 10\n'


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--jobs", "0"], ["--jobs", "got 0", "from 1"]),
        (["--address", "10.0.0.1:6379"], ["--address", "accepted: an address with --engine ray"]),
        (["--engine", "ray", "--address", ""], ["--address", "got nothing", "HOST:PORT"]),
        (["--engine", "ray", "--address", "local"], ["--address", "got local", "HOST:PORT"]),
        (["--engine", "ray", "--address", "ray://10.0.0.1:10001"], ["--address", "HOST:PORT"]),
        (["--engine", "slurm"], ["--engine", "slurm", "local"]),
    ],
)
@pytest.mark.parametrize("command", [["sweep", "plan.toml"], ["reproduce", "cliff", "--seeds", "1"]])
def test_a_sweep_with_a_wrong_engine_is_refused_before_it_begins(
    run, tmp_path, monkeypatch, command, args, expected
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    code, out, err = run(*command, *args)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    for text in expected:
        assert text in err
    assert not list(tmp_path.rglob("ledger.jsonl"))


def test_runs_are_listed_with_their_steps_of_those_planned(run, tmp_path):
    for name, step in (("one", 1_500), ("two", 40)):
        directory = tmp_path / "runs" / name
        directory.mkdir(parents=True)
        config = {"env": "CartPole-v1", "agent": "uadqn", "seed": 3, "steps": 20_000}
        (directory / "config.json").write_text(json.dumps(config))
        line = {"step": step, "rollout/ep_rew_mean": 21.5, "eval/mean_reward": 99.25}
        (directory / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    code, out, _ = run("runs", str(tmp_path))
    head, _, *rows = [line.split() for line in out.splitlines() if line.strip()]
    assert code == 0
    assert " ".join(head) == "run environment agent seed steps planned return best evaluation"
    assert [row[1:] for row in rows] == [
        ["CartPole-v1", "uadqn", "3", step, "20,000", "21.5", "99.25"] for step in ("1,500", "40")
    ]


def test_runs_without_a_directory_is_one_line(run, tmp_path):
    code, out, err = run("runs", str(tmp_path / "nowhere"))
    assert (code, out) == (2, "")
    assert err.startswith("surefoot: DIR: got ")
    assert err.count("\n") == 1
