"""Results on disk: whole or not at all."""

import errno

import numpy as np
import pytest
from matplotlib.figure import Figure

from surefoot.experiments import report
from surefoot.experiments.base import Experiment, Outcome, Settings
from surefoot.types import UserError

SETTINGS = Settings(seeds=1, steps=1)
OUTCOME = Outcome([], {"data": {"x": np.array([1.5, 2.0]), "kind": np.array(["a", "b,c"])}}, {})
EXPERIMENT = Experiment(name="made-up", title="", intervals="", config=Settings, run=lambda *_: OUTCOME)


def test_tables_are_written_as_csv(tmp_path):
    report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    assert (tmp_path / "data.csv").read_text().splitlines() == ["x,kind", "1.5,a", '2.0,"b,c"']


def test_a_full_disk_is_one_line_and_leaves_the_old_results(tmp_path, monkeypatch):
    report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(report.style, "save", full)
    changed = OUTCOME._replace(tables={"data": {"x": np.array([3.0])}}, figures={"a": Figure()})
    with pytest.raises(UserError, match=r"could not write to .* \(No space left on device\)"):
        report.write(EXPERIMENT, SETTINGS, changed, tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_directory_with_other_files_is_used_and_they_stay(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    assert report.choose_directory(EXPERIMENT, tmp_path, overwrite=False) == tmp_path
    report.write(EXPERIMENT, SETTINGS, OUTCOME, tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
