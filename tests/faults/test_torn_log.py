"""Logs that a crash left torn: mended when the run is resumed."""

import shutil

import pytest

import surefoot
from surefoot.runs import directory
from surefoot.runs.log_files import EPISODES, METRICS, read_episodes, read_metrics, rewind
from tests.faults.helpers import PLAN, assert_same_run
from tests.small_models import CLIFF, QUICK


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of 100 steps that was cut at 80, with the log as it was then."""
    out = tmp_path_factory.mktemp("torn") / "run"
    surefoot.DQN(CLIFF, seed=3, **QUICK).learn(100, out=out, **PLAN)
    return out


@pytest.mark.parametrize("name", [METRICS, EPISODES])
def test_a_log_torn_at_any_byte_of_its_last_two_records_is_mended(tmp_path, run, reached, name):
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    good = directory.newest_checkpoint(run)
    whole = {each: (run / each).read_bytes() for each in (METRICS, EPISODES)}
    last_two = len(b"".join(whole[name].splitlines(keepends=True)[-2:]))
    for cut in range(last_two + 1):
        (copy / name).write_bytes(whole[name][: len(whole[name]) - cut])
        assert rewind(copy, good.manifest.step, good.manifest.notes["log"]) == []
        for each in (METRICS, EPISODES):
            assert (copy / each).read_bytes() == whole[each]
    steps = [line["step"] for line in read_metrics(copy)]
    assert steps == sorted({*range(20, 101, 20), *range(30, 101, 30)})
    assert [row.episode for row in read_episodes(copy)] == list(range(1, len(read_episodes(copy)) + 1))
    reached("torn log", f"{name} cut at {last_two + 1} places", "mended, no step twice or missing")


def test_the_torn_log_of_a_finished_run_is_mended_too(tmp_path, run):
    surefoot.DQN(CLIFF, seed=3, **QUICK).learn(107, out=tmp_path / "run", **PLAN)
    whole = {name: (tmp_path / "run" / name).read_bytes() for name in (METRICS, EPISODES)}
    assert read_metrics(tmp_path / "run")[-1]["step"] == 107
    for name, cut in ((METRICS, 15), (METRICS, 300), (EPISODES, 5)):
        (tmp_path / "run" / name).write_bytes(whole[name][:-cut])
        surefoot.resume(tmp_path / "run", progress=False)
        assert {each: (tmp_path / "run" / each).read_bytes() for each in whole} == whole
    copy = tmp_path / "copy"
    shutil.copytree(run, copy)
    with (copy / "timing.jsonl").open("ab") as file:
        file.write(b"\0\0\0\n")
    assert surefoot.resume(copy, 110, progress=False).num_timesteps == 110


@pytest.mark.parametrize("cut", [1, 40, 150])
def test_a_run_with_a_torn_log_goes_on_as_if_nothing_had_been(tmp_path, run, cut):
    longer = tmp_path / "longer"
    surefoot.DQN(CLIFF, seed=3, **QUICK).learn(150, out=longer, **PLAN)
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    for name in (METRICS, EPISODES):
        path = copy / name
        path.write_bytes(path.read_bytes()[:-cut])
    surefoot.resume(copy, 150, progress=False)
    assert_same_run(longer, copy)
