"""Runs as the page reads them: whole, in pieces, and while they are written."""

import json
import os

import pytest

from surefoot.errors import UserError
from surefoot.web.run_reader import MAX_POINTS, RunReader, entries, newest_run, series
from tests.unit.web.conftest import make_run


def test_a_log_is_read_on_from_where_it_ended_and_an_unfinished_line_waits(tmp_path):
    run = make_run(tmp_path / "run", lines=2)
    first = entries(run)
    assert [each["step"] for each in first.lines] == [0, 1]
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 2}\n{"step": 3, "x"')
    second = entries(run, first.end)
    assert [each["step"] for each in second.lines] == [2]
    with (run / "metrics.jsonl").open("a") as file:
        file.write(": 1}\n")
    assert [each["step"] for each in entries(run, second.end).lines] == [3]


def test_of_a_long_log_the_last_whole_lines_are_read(tmp_path):
    run = make_run(tmp_path / "run", lines=1_000)
    found = entries(run, tail=500).lines
    assert found[-1]["step"] == 999
    assert 5 < len(found) < 20


def test_long_series_are_thinned_but_keep_their_ends_and_all_evaluations():
    lines = [{"step": step, "train/loss": step} for step in range(5_000)]
    lines[777]["eval/mean_reward"] = 1.5
    found = series(lines)
    assert len(found["train/loss"]) <= MAX_POINTS + 1
    assert found["train/loss"][0] == [0, 0]
    assert found["train/loss"][-1] == [4_999, 4_999]
    assert found["eval/mean_reward"] == [[777, 1.5]]


def test_only_numbers_of_known_kinds_are_drawn():
    found = series(
        [{"step": 1, "x": 1, "eval/a": "text", "eval/b": float("nan"), "eval/c": True, "eval/d": 2}]
    )
    assert set(found) == {"eval/c", "eval/d"}


def test_the_newest_run_is_the_one_whose_log_changed_last(tmp_path):
    for name in ("a", "deep/er/b"):
        make_run(tmp_path / name)
    os.utime(tmp_path / "a" / "metrics.jsonl", (2e9, 2e9))
    assert newest_run(tmp_path) == tmp_path / "a"
    assert RunReader(tmp_path).names() == ["a", "deep/er/b"]
    assert newest_run(tmp_path / "a" / "nothing") is None


def test_a_name_is_looked_up_and_never_made_into_a_path(tmp_path):
    make_run(tmp_path / "runs" / "run")
    make_run(tmp_path / "outside")
    reader = RunReader(tmp_path / "runs")
    for name in ("../outside", str(tmp_path / "outside"), "", ".", "run/../run"):
        with pytest.raises(UserError, match="not found"):
            reader.path(name)


def test_a_damaged_run_is_left_out_of_the_list(tmp_path):
    make_run(tmp_path / "good")
    (make_run(tmp_path / "bad") / "config.json").write_text("{")
    (make_run(tmp_path / "odd") / "config.json").write_text(json.dumps({"seed": "x", "steps": None}))
    assert {each["name"] for each in RunReader(tmp_path).summaries()} == {"good", "odd"}
