"""Results on disk: whole or not at all."""

import errno
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from surefoot.claims import Verdict, above, claim
from surefoot.errors import UserError
from surefoot.experiments import report
from surefoot.experiments.base import DirectExperiment, Outcome, Settings, judged
from surefoot.sweeps.ledger import LEDGER

SETTINGS = Settings(seeds=1, steps=1)
OUTCOME = Outcome([], {"data": {"x": np.array([1.5, 2.0]), "kind": np.array(["a", "b,c"])}}, Figure())
EXPERIMENT = DirectExperiment(
    name="made-up", title="", intervals="", tables=("data",), config=Settings, run=lambda *_: OUTCOME
)


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_tables_are_written_as_csv_and_all_files_are_named(tmp_path):
    written = report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    assert [path.name for path in written] == ["data.csv", "made-up.png", "made-up.svg", "summary.json"]
    assert set(contents(tmp_path)) == {path.name for path in written}
    assert (tmp_path / "data.csv").read_text().splitlines() == ["x,kind", "1.5,a", '2.0,"b,c"']


def test_a_full_disk_is_one_line_and_leaves_the_old_results(tmp_path, monkeypatch):
    report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    before = contents(tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(report.style, "save", full)
    changed = OUTCOME._replace(tables={"data": {"x": np.array([3.0])}})
    with pytest.raises(UserError, match=r"could not write to .* \(No space left on device\)"):
        report.write(EXPERIMENT, SETTINGS, changed, tmp_path)
    assert contents(tmp_path) == before


def test_an_interruption_amid_the_moves_leaves_no_summary_of_other_files(tmp_path, monkeypatch):
    report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    move, calls = Path.replace, []

    def interrupted(path, target):
        calls.append(path)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return move(path, target)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    assert set(contents(tmp_path)) == {"data.csv", "made-up.png", "made-up.svg"}


def test_a_directory_with_other_files_is_used_and_they_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert report.choose_directory(EXPERIMENT, tmp_path, overwrite=False) == tmp_path
    report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("directory_for", "whose"),
    [(report.choose_directory, ""), (report.continued_directory, " of something else")],
)
@pytest.mark.parametrize("name", ["data.csv", "made-up.png", "summary.json"])
def test_a_file_of_the_users_is_not_overwritten_unless_asked(tmp_path, name, directory_for, whose):
    (tmp_path / name).write_text("mine")
    words = f"already holds {name}{whose}, accepted: another directory, or --overwrite"
    with pytest.raises(UserError, match=words):
        directory_for(EXPERIMENT, tmp_path, overwrite=False)
    assert directory_for(EXPERIMENT, tmp_path, overwrite=True) == tmp_path


def test_a_sweep_goes_on_where_its_own_conclusions_are_whole_or_not(tmp_path):
    report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    assert report.continued_directory(EXPERIMENT, tmp_path, overwrite=False) == tmp_path
    with pytest.raises(UserError, match=r"already holds data\.csv, summary\.json of something else"):
        report.continued_directory(replace(EXPERIMENT, name="other"), tmp_path, overwrite=False)
    (tmp_path / "summary.json").unlink()  # As after an interruption amid the moves.
    (tmp_path / LEDGER).touch()
    assert report.continued_directory(EXPERIMENT, tmp_path, overwrite=False) == tmp_path


def test_a_summary_says_which_revisions_its_runs_began_with(tmp_path):
    revisions = [("0.1.0", "b"), ("0.1.0", "a"), ("0.1.0", "b"), ("0.2.0", None)]
    runs = [tmp_path / str(number) for number in range(len(revisions))]
    for run, (version, revision) in zip(runs, revisions, strict=True):
        run.mkdir()
        (run / "config.json").write_text(json.dumps({"version": version, "revision": revision}))
    found = report.summary(EXPERIMENT, SETTINGS, [], runs)["runs_begun_by"]
    assert found == ["0.1.0 a", "0.1.0 b", "0.2.0"]


def test_two_runs_at_once_get_directories_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = [report.choose_directory(EXPERIMENT, None, overwrite=False) for _ in range(3)]
    assert [path.name for path in chosen] == ["made-up", "made-up-2", "made-up-3"]


def test_a_directory_that_cannot_be_written_is_refused_before_the_work():
    with pytest.raises(UserError, match="accepted: a directory that can be written"):
        report.choose_directory(EXPERIMENT, Path("/proc/self"), overwrite=False)


@pytest.mark.parametrize(("steps", "verdict"), [(1, Verdict.UNDECIDED), (10, Verdict.FAILS)])
def test_a_run_too_short_fails_nothing(steps, verdict):
    @dataclass(frozen=True, kw_only=True)
    class Config(Settings):
        steps: int = 10

    experiment = replace(EXPERIMENT, config=Config)
    failed = claim("a", paper="b", measured=0, interval=(0, 0), criterion=above(1))
    (found,) = judged(experiment, Config(seeds=1, steps=steps), [failed])
    assert found.verdict == verdict
