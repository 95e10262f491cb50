"""Results on disk: complete, and never overwritten unless the user asks for it."""

import errno
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from surefoot.errors import UserError
from surefoot.experiments import report
from surefoot.experiments.base import DirectExperiment, ExperimentConfig, Outcome
from surefoot.figures import style
from surefoot.sweeps.ledger import LEDGER

SETTINGS = ExperimentConfig(seeds=1, steps=1)
OUTCOME = Outcome([], {"data": {"x": np.array([1.5, 2.0]), "kind": np.array(["a", "b,c"])}}, Figure())
EXPERIMENT = DirectExperiment(
    name="synthetic",
    title="",
    intervals="",
    tables=("data",),
    config=ExperimentConfig,
    run=lambda *_: OUTCOME,
)


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_tables_are_written_as_csv_and_all_files_are_named(tmp_path):
    written = report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    assert [path.name for path in written] == ["data.csv", "synthetic.png", "synthetic.svg", "summary.json"]
    assert set(contents(tmp_path)) == {path.name for path in written}
    assert (tmp_path / "data.csv").read_text().splitlines() == ["x,kind", "1.5,a", '2.0,"b,c"']


def test_a_full_disk_is_an_error_of_one_line_and_the_old_results_remain(tmp_path, monkeypatch):
    report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    before = contents(tmp_path)

    def raise_disk_full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(style, "save", raise_disk_full)
    changed = OUTCOME._replace(tables={"data": {"x": np.array([3.0])}})
    with pytest.raises(UserError, match=r"could not write to .* \(No space left on device\)"):
        report.write(EXPERIMENT, SETTINGS, changed, tmp_path)
    assert contents(tmp_path) == before


def test_after_an_interruption_between_two_moves_there_is_no_summary(tmp_path, monkeypatch):
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
    assert set(contents(tmp_path)) == {"data.csv", "synthetic.png", "synthetic.svg"}


def test_other_files_of_a_directory_are_not_touched(tmp_path):
    (tmp_path / "notes.txt").write_text("notes")
    assert report.results_directory(EXPERIMENT, tmp_path, overwrite=False) == tmp_path
    report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "notes"


@pytest.mark.parametrize(
    ("directory_for", "whose"),
    [(report.results_directory, ""), (report.resumable_directory, " of something else")],
)
@pytest.mark.parametrize("name", ["data.csv", "synthetic.png", "summary.json"])
def test_a_file_of_the_user_is_only_overwritten_on_request(tmp_path, name, directory_for, whose):
    (tmp_path / name).write_text("notes")
    message = f"^out: .* already holds {name}{whose}, accepted: another directory, or overwrite$"
    with pytest.raises(UserError, match=message):
        directory_for(EXPERIMENT, tmp_path, overwrite=False)
    assert directory_for(EXPERIMENT, tmp_path, overwrite=True) == tmp_path


def test_a_sweep_is_resumed_in_its_own_directory_with_or_without_a_summary(tmp_path):
    report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    assert report.resumable_directory(EXPERIMENT, tmp_path, overwrite=False) == tmp_path
    with pytest.raises(UserError, match=r"already holds data\.csv, summary\.json of something else"):
        report.resumable_directory(replace(EXPERIMENT, name="other"), tmp_path, overwrite=False)
    (tmp_path / "summary.json").unlink()  # As after an interruption between two moves.
    (tmp_path / LEDGER).touch()
    assert report.resumable_directory(EXPERIMENT, tmp_path, overwrite=False) == tmp_path


def test_a_summary_contains_the_revisions_that_its_runs_began_with(tmp_path):
    revisions = [("0.1.0", "b"), ("0.1.0", "a"), ("0.1.0", "b"), ("0.2.0", None)]
    runs = [tmp_path / str(number) for number in range(len(revisions))]
    for run, (version, revision) in zip(runs, revisions, strict=True):
        run.mkdir()
        (run / "config.json").write_text(json.dumps({"version": version, "revision": revision}))
    found = report.summary(EXPERIMENT, SETTINGS, [], runs)["runs_begun_by"]
    assert found == ["0.1.0 a", "0.1.0 b", "0.2.0"]


def test_without_out_every_experiment_gets_a_new_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    chosen = [report.results_directory(EXPERIMENT, None, overwrite=False) for _ in range(3)]
    assert [path.name for path in chosen] == ["synthetic", "synthetic-2", "synthetic-3"]


def test_a_directory_that_cannot_be_written_is_refused_before_the_work():
    with pytest.raises(UserError, match="accepted: a directory that can be written"):
        report.results_directory(EXPERIMENT, Path("/proc/self"), overwrite=False)
