"""The directory of a run: its files as others read them, one writer, and summaries."""

import errno
import fcntl
import itertools
import json
import os

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import surefoot
from surefoot.errors import UserError
from surefoot.runs import directory
from surefoot.runs.log_files import LogFiles, read_episodes, read_metrics
from surefoot.runs.metrics import EpisodeRow
from tests.small_models import QUICK


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    home = tmp_path_factory.mktemp("runs") / "cliff"
    model = surefoot.UADQN("surefoot/WindyCliff-v0", seed=3, **QUICK)
    model.learn(250, out=home, log_every=100, eval_every=100, eval_episodes=2, progress=False)
    return home


def test_everything_is_where_the_design_says(run):
    names = {path.name for path in run.iterdir()}
    assert names >= {
        "config.json",
        "metrics.jsonl",
        "timing.jsonl",
        "episodes.csv",
        "run.lock",
        "checkpoints",
    }
    assert (run / "checkpoints" / "step_000000250" / "manifest.json").exists()
    assert directory.last_checkpoint(run).name == "step_000000250"
    assert directory.best_checkpoint(run).name in {"best_000000100", "best_000000200"}


def test_the_configuration_is_resolved_and_says_what_produced_the_run(run):
    config = json.loads((run / "config.json").read_text())
    assert config["env"] == "surefoot/WindyCliff-v0"
    assert config["driver"] == "compiled"
    assert config["agent"] == "uadqn"
    assert config["preset"] == "control"
    assert (config["seed"], config["steps"]) == (3, 250)
    assert config["settings"]["batch_size"] == 4
    assert config["settings"]["quantiles"] == 20
    assert {"version", "revision", "device"} <= set(config)


def test_metrics_have_their_names_and_no_clock(run):
    lines = read_metrics(run)
    assert [line["step"] for line in lines] == [100, 200, 250]
    for line in lines:
        assert {
            "rollout/ep_rew_mean",
            "rollout/ep_len_mean",
            "train/loss",
            "uncertainty/epistemic_mean",
            "uncertainty/aleatoric_mean",
            "uncertainty/nongreedy_fraction",
            "info/fell",
        } <= set(line)
        assert not any("time" in name for name in line)
        assert ("eval/mean_reward" in line) == (line["step"] % 100 == 0)
    timing = [json.loads(line) for line in (run / "timing.jsonl").read_text().splitlines()]
    assert [line["step"] for line in timing] == [100, 200, 250]
    assert all(line["time/fps"] > 0 for line in timing)


def test_episodes_add_up(run):
    rows = read_episodes(run)
    assert [row.episode for row in rows] == list(range(1, len(rows) + 1))
    ends = [0, *(row.step for row in rows)]
    assert [row.length for row in rows] == [after - before for before, after in itertools.pairwise(ends)]
    assert read_metrics(run)[-1]["rollout/episodes"] == len(rows)
    last = rows[-100:]
    mean = sum(row.episode_return for row in last) / len(last)
    assert read_metrics(run)[-1]["rollout/ep_rew_mean"] == pytest.approx(mean)


def test_tensorboards_own_reader_finds_the_same_scalars(run):
    for part, lines in (
        ("", read_metrics(run)),
        ("timing", [json.loads(line) for line in (run / "timing.jsonl").read_text().splitlines()]),
    ):
        events = EventAccumulator(str(run / "tensorboard" / part))
        events.Reload()
        names = {name for line in lines for name in line if name != "step"}
        assert set(events.Tags()["scalars"]) == names
        for name in names:
            written = [(line["step"], line[name]) for line in lines if name in line]
            found = [(event.step, event.value) for event in events.Scalars(name)]
            assert [step for step, _ in found] == [step for step, _ in written]
            assert [value for _, value in found] == pytest.approx([value for _, value in written])


def test_equal_runs_have_equal_files(tmp_path, run):
    model = surefoot.UADQN("surefoot/WindyCliff-v0", seed=3, **QUICK)
    model.learn(250, out=tmp_path, log_every=100, eval_every=100, eval_episodes=2, progress=False)
    for name in ("config.json", "metrics.jsonl", "episodes.csv"):
        assert (tmp_path / name).read_bytes() == (run / name).read_bytes(), name


def test_a_directory_that_holds_something_is_refused_and_not_changed(run, tmp_path):
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    model = surefoot.UADQN("surefoot/WindyCliff-v0", **QUICK)
    with pytest.raises(
        UserError, match=rf"out: {run} already holds checkpoints, config.json, .*accepted: a new"
    ):
        model.learn(10, out=run, progress=False)
    assert {path for path in run.rglob("*") if path.is_file()} == set(before)
    for path, content in before.items():
        if path.name != "run.holder":
            assert path.read_bytes() == content
    file = tmp_path / "file"
    file.write_text("precious")
    with pytest.raises(UserError, match=r"out: got .*accepted: a directory"):
        model.learn(10, out=file, progress=False)
    assert file.read_text() == "precious"


def test_a_second_writer_learns_who_the_first_is(tmp_path):
    lock = directory.lock(tmp_path)
    try:
        with pytest.raises(UserError, match=f"in use by process {os.getpid()} on .*accepted: one writer"):
            directory.lock(tmp_path)
    finally:
        lock.release()
    directory.lock(tmp_path).release()


def test_a_disk_without_locks_is_refused_not_trusted(tmp_path, monkeypatch):
    """A file that stands for a lock would outlive a process that is killed, and lock everyone out."""

    def unknown(*_):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", unknown)
    with pytest.raises(UserError, match=r"could not be locked \(Function not implemented\), accepted"):
        directory.lock(tmp_path)


def test_a_summary_of_all_runs(run):
    (found,) = directory.summaries(run.parent)
    assert found.directory == run
    assert (found.environment, found.agent, found.seed) == ("surefoot/WindyCliff-v0", "uadqn", 3)
    assert (found.step, found.steps) == (250, 250)
    assert found.episode_return == read_metrics(run)[-1]["rollout/ep_rew_mean"]
    assert found.best is not None


def test_a_torn_last_line_is_left_out(tmp_path):
    files = LogFiles(tmp_path)
    files.episodes([EpisodeRow(1, 9, 1.5, 9, True), EpisodeRow(2, 12, -1.0, 3, False)])
    files.scalars(10, {"x": 1.0})
    files.scalars(20, {"x": 2.0})
    files.close()
    for name in ("metrics.jsonl", "episodes.csv"):
        path = tmp_path / name
        path.write_text(path.read_text()[:-2])
    assert read_metrics(tmp_path) == [{"step": 10, "x": 1.0}]
    assert read_episodes(tmp_path) == [EpisodeRow(1, 9, 1.5, 9, True)]
