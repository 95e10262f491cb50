"""From directories to a comparison: scores, lengths, what is left out, and curves."""

import json
import shutil

import numpy as np
import pytest

import surefoot
from surefoot import UserError, compare
from surefoot.comparison import compare_runs
from surefoot.comparison.contrasts import ALL_TASKS
from surefoot.comparison.run_scores import Series, final_score, fraction_needed
from tests.unit.comparison.synthetic_runs import GRID, scores_of, write_group, write_run, write_sweep


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """Intervals do not matter here."""
    monkeypatch.setattr("surefoot.statistics.RESAMPLES", 50)
    monkeypatch.setattr(compare_runs, "WINDOWS", 10)


@pytest.fixture
def home(tmp_path):
    """Three seeds of two agents, without a word on where they are."""
    write_group(tmp_path, [1.0, 2.0, 6.0], agent="dqn")
    write_group(tmp_path, [4.0, 5.0, 9.0], agent="qrdqn")
    return tmp_path


def test_scores_are_means_over_the_end_of_training(home):
    found = compare(home)
    assert found.groups == ("dqn", "qrdqn")
    assert found.tasks == {"CartPole-v1": 1_000}
    assert scores_of(found.runs, "dqn") == [1, 2, 6]
    assert [(each.group, each.seeds, each.mean.measured) for each in found.scores] == [
        ("dqn", 3, 3.0),
        ("qrdqn", 3, 6.0),
    ]
    (pair,) = found.pairs
    assert (pair.group, pair.baseline) == ("qrdqn", "dqn")
    assert pair.difference.measured == 3
    assert pair.probability.measured == pytest.approx((3 + 2 + 2 + 0) / 9)
    assert all(each.iqm.interval for each in found.scores)
    # Returns are 0 in the first half of training.
    assert scores_of(compare(home, last=1.0).runs, "dqn") == pytest.approx([0.5, 1, 3])


def test_the_baseline_is_the_first_group_or_the_one_that_is_named(home):
    (pair,) = compare(home, baseline="qrdqn").pairs
    assert (pair.group, pair.baseline, pair.difference.measured) == ("dqn", "qrdqn", -3)
    with pytest.raises(UserError, match=r"^baseline: got qrdqm, accepted: dqn, qrdqn; did you mean qrdqn\?$"):
        compare(home, baseline="qrdqm")


def test_any_logged_scalar_is_a_metric(tmp_path):
    write_group(tmp_path, [1.0] * 3, scalars={"eval/mean_reward": 7.5})
    found = compare(tmp_path, metric="eval/mean_reward")
    assert scores_of(found.runs, "dqn") == [7.5, 7.5, 7.5]
    with pytest.raises(
        UserError,
        match=r"^metric: got eval/mean_rewad, accepted: eval/mean_reward, return, rollout/episodes"
        r"; did you mean eval/mean_reward\?$",
    ):
        compare(tmp_path, metric="eval/mean_rewad")


def test_scalars_that_depend_on_the_clock_are_metrics_too(tmp_path):
    path = write_run(tmp_path / "run", 1.0)
    (path / "timing.jsonl").write_text('{"step": 1000, "time/fps": 50.0}\n')
    assert scores_of(compare(path, metric="time/fps").runs, "dqn") == [50]


def test_runs_of_different_lengths_are_compared_at_the_largest_common_step(tmp_path):
    write_group(tmp_path, [1.0, 2.0, 3.0], agent="dqn", steps=1_000)
    write_group(tmp_path, [8.0, 8.0, 8.0], agent="qrdqn", steps=4_000)
    found = compare(tmp_path)
    assert found.tasks == {"CartPole-v1": 1_000}
    assert scores_of(found.runs, "qrdqn") == [0, 0, 0]  # Their returns are 0 to step 2,000.
    assert found.curves["step"].max() == 1_000
    assert "CartPole-v1: compared at step 1,000, which all runs have made; some have 4,000" in found.notes


def test_tasks_have_lengths_of_their_own(home):
    more = {"env": "surefoot/MinAtar-Breakout-v0", "space": GRID, "steps": 2_000}
    for agent in ("dqn", "qrdqn"):
        write_group(home, [3.0, 3.0, 3.0], name=f"breakout-{agent}", agent=agent, **more)
    found = compare([home / "dqn-*", home / "qrdqn-*", home / "breakout-*"])
    assert found.tasks == {"CartPole-v1": 1_000, "MinAtar-Breakout-v0": 2_000}
    assert {each.task for each in found.scores} == {*found.tasks, ALL_TASKS}
    assert not any("compared at" in note for note in found.notes)


def test_unfinished_damaged_and_empty_runs_are_named_and_left_out(home):
    write_run(home / "short", 1.0, seed=7, steps=2_000, made=1_500)
    write_run(home / "silent", 1.0, seed=8, made=0)
    (write_run(home / "torn", 1.0, seed=9) / "config.json").write_text('{"env": ')
    (write_run(home / "garbled", 1.0, seed=10) / "episodes.csv").write_text("episode\nx,y,z,1,True\n")
    (home / "empty").mkdir()
    (write_run(home / "never-ends", 1.0, seed=11) / "episodes.csv").write_text("episode,step\n")
    found = compare([home, home / "empty"])
    assert len(found.runs["run"]) == 6
    assert {
        f"left out, missing or damaged config.json: {home}/torn",
        f"left out, unfinished: {home}/short (step 1,500 of 2,000), {home}/silent (step 0 of 1,000)",
        f"left out, no run there: {home}/empty",
        f"left out, damaged log: {home}/garbled",
        f"left out, no episode ended: {home}/never-ends",
    } <= set(found.notes)


@pytest.mark.parametrize(
    "damage",
    [{"steps": "many"}, {"seed": None}, {"settings": []}, {"env_kwargs": 3}, {"preset": {}}, {"env": 1}],
)
def test_a_configuration_of_another_kind_is_damaged(home, damage):
    path = write_run(home / "odd", 1.0, seed=7)
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, **damage}))
    assert f"left out, missing or damaged config.json: {path}" in compare(home).notes


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("metrics.jsonl", '{"step": "x"}\n'),
        ("metrics.jsonl", '{"step": null}\n'),
        ("episodes.csv", "episode\n1,2\n"),
    ],
)
def test_a_log_of_another_kind_is_damaged(home, name, damage):
    path = write_run(home / "odd", 1.0, seed=7)
    (path / name).write_text(damage)
    assert f"left out, damaged log: {path}" in compare(home).notes


def test_runs_of_version_0_1_which_did_not_store_all_settings_are_compared(home):
    path = write_run(home / "old", 1.0, seed=7)
    config = json.loads((path / "config.json").read_text())
    for name in ("env_kwargs", "optimiser", "driver"):
        del config[name]
    del config["settings"]["envs"]
    (path / "config.json").write_text(json.dumps(config))
    assert scores_of(compare(home).runs, "dqn") == [1, 1, 2, 6]


def test_a_line_names_a_few_runs_and_counts_the_others(home):
    write_group(home, [1.0] * 8, agent="uadqn", made=500)
    (line,) = [note for note in compare(home).notes if "unfinished" in note]
    assert line.count("step 500") == 5
    assert line.endswith(" and 3 more")


def test_without_a_finished_run_there_is_nothing_to_compare(tmp_path):
    path = write_run(tmp_path / "run", 1.0, made=500)
    with pytest.raises(UserError, match=r"^runs: nothing to compare \(.*step 500 of 1,000\)\), accepted: "):
        compare(path)
    with pytest.raises(UserError, match=r"^runs: nothing to compare \(none is named\)"):
        compare([])
    with pytest.raises(UserError, match=r"^runs: got .*/runz-\*, accepted: directories of runs"):
        compare(tmp_path / "runz-*")


def test_a_run_counts_once_however_often_it_is_named(home):
    found = compare([home, home / "dqn-seed0", str(home / "dqn-seed*"), home / ".." / home.name])
    assert len(found.runs["run"]) == 6
    assert not any("left out" in note for note in found.notes)


def test_a_copy_of_a_run_is_no_further_seed(home):
    copy = write_run(home / "z", 1.0, agent="dqn", seed=0)
    found = compare(home)
    assert len(found.runs["run"]) == 6
    assert f"left out, copies of other runs: {copy} (of {home}/dqn-seed0)" in found.notes
    # Grouped by what tells them apart, they are compared.
    assert compare([home / "dqn-*", copy], by="directory").groups == (f"directory={home}",)


def test_a_compiled_and_a_hosted_run_are_of_one_group_and_no_copies(home):
    write_run(home / "z", 1.0, agent="dqn", seed=0, driver="compiled")
    assert scores_of(compare(home).runs, "dqn") == [1, 1, 2, 6]
    assert {"dqn driver=compiled", "qrdqn driver=hosted"} <= set(compare(home, by=["agent", "driver"]).groups)


@pytest.mark.parametrize("objects", [{"network": "custom"}, {"optimiser": "custom"}, {"env_is_object": True}])
def test_runs_with_objects_that_no_file_describes_are_no_copies(tmp_path, objects):
    for name in ("one", "two"):
        write_run(tmp_path / name, 1.0, **objects)
    assert len(compare(tmp_path).runs["run"]) == 2


def test_of_copies_the_longest_is_compared(home):
    longer = write_run(home / "z", 1.0, agent="dqn", seed=0, steps=5_000)
    assert f"left out, copies of other runs: {home}/dqn-seed0 (of {longer})" in compare(home).notes


def test_runs_with_equal_seeds_and_other_settings_are_no_copies(home):
    write_run(home / "z", 1.0, agent="dqn", seed=0, given={"batch_size": 8})
    assert len(compare(home, by=["agent"]).runs["run"]) == 7


def test_directories_can_be_compared_with_each_other(tmp_path):
    for name, score in (("before", 1.0), ("after", 2.0)):
        write_group(tmp_path / name, [score] * 3, agent="dqn")
    found = compare([tmp_path / "before", tmp_path / "after"], by=["directory"])
    assert found.groups == (f"directory={tmp_path}/before", f"directory={tmp_path}/after")


def test_runs_of_a_sweep_come_in_the_order_of_its_plan(tmp_path):
    runs = {
        f"{agent}-seed{i}": {"score": 1.0, "agent": agent, "seed": i}
        for agent in ("uadqn", "dqn")
        for i in (0, 1)
    }
    home = write_sweep(tmp_path / "sweep", runs)
    assert compare(home).groups == ("uadqn", "dqn")


def test_runs_of_a_sweep_that_were_not_begun_are_named(tmp_path):
    runs = {f"seed{i}": {"score": 1.0, "seed": i} for i in range(3)}
    home = write_sweep(tmp_path / "sweep", runs)
    shutil.rmtree(home / "runs" / "seed1")
    found = compare(home)
    assert found.runs["seed"].tolist() == [0, 2]
    assert f"left out, not begun: {home}/runs/seed1" in found.notes


def test_a_sweep_whose_ledger_is_damaged_is_compared_by_the_runs_that_are_there(tmp_path):
    runs = {f"seed{i}": {"score": 1.0, "seed": i} for i in range(3)}
    home = write_sweep(tmp_path / "sweep", runs)
    (home / "ledger.jsonl").write_text('{"event": "planned", "run": "seed2"}\n[]\n{"event": "plan')
    assert compare(home).runs["seed"].tolist() == [2, 0, 1]


def test_a_last_part_without_a_value_is_refused_with_one_that_has_some(home):
    path = write_run(home / "slow", 1.0, agent="dqn", seed=5)
    (path / "episodes.csv").write_text("episode,step,return,length,terminated\n1,760,500.0,760,True\n")
    message = rf"^last: got 0\.1, where {path} has no value, accepted: numbers from 0\.25 to 1$"
    with pytest.raises(UserError, match=message):
        compare(home)
    assert 500 in scores_of(compare(home, last=0.25).runs, "dqn")


def test_a_run_whose_values_come_after_the_step_of_comparison_is_refused(home):
    path = write_run(home / "slow", 1.0, agent="dqn", seed=5, steps=4_000)
    (path / "episodes.csv").write_text("episode,step,return,length,terminated\n1,2000,500.0,760,True\n")
    with pytest.raises(
        UserError, match=rf"^runs: {path} has no value up to step 1,000, where CartPole-v1 is"
    ):
        compare(home)


@pytest.mark.parametrize("last", [0.0, -1.0, 1.5, float("nan")])
def test_a_last_part_out_of_range_is_refused(home, last):
    with pytest.raises(UserError, match=r"^last: got .*, accepted: numbers above 0, to 1$"):
        compare(home, last=last)


def test_a_final_score_is_that_of_the_episodes_that_ended_in_the_last_part():
    series = Series(np.array([1, 90, 91, 100, 101]), np.array([1.0, 2.0, 3.0, 4.0, 5.0]))
    assert final_score(series, 100, 0.1) == 3.5
    assert final_score(series, 100, 1.0) == 2.5
    assert np.isnan(final_score(series, 80, 0.1))


@pytest.mark.parametrize(("end", "needed"), [(100, 0.01), (99, 0.02), (76, 0.25), (75, 0.26), (1, 1.0)])
def test_the_fraction_that_is_needed_is_the_least_that_gives_a_score(end, needed):
    series = Series(np.array([end]), np.array([1.0]))
    assert fraction_needed(series, 100) == needed
    assert final_score(series, 100, needed) == 1
    assert np.isnan(final_score(series, 100, needed - 0.01))


def test_curves_are_interquartile_means_of_all_seeds_who_keep_their_last_value(tmp_path):
    for seed, (end, returns) in enumerate([(50, [1.0, 2.0]), (150, [3.0]), (50, [8.0, 9.0])]):
        path = write_run(tmp_path / f"run{seed}", 0.0, seed=seed, steps=1_000)
        rows = [f"{i},{end + 500 * i},{each},9,True" for i, each in enumerate(returns)]
        (path / "episodes.csv").write_text("\n".join(["episode,step,return,length,terminated", *rows, ""]))
    curves = compare(tmp_path, last=1.0).curves
    assert curves["step"].tolist() == list(range(100, 1_001, 100))
    # In the first window, seed 1 has no value yet; in the third to fifth, nobody has a new one.
    expected = [np.nan, 4.0, *[np.nan] * 3, 14 / 3, *[np.nan] * 4]
    np.testing.assert_allclose(curves["iqm"], expected)
    assert curves["seeds"].tolist() == [3] * 10


def test_a_reader_is_told_of_few_seeds_and_of_different_revisions(home):
    few = "fewer than 5 seeds in a group: intervals are too narrow, nothing is decided"
    assert compare(home).notes == [few]
    write_run(home / "one", 1.0, agent="uadqn", revision="b")
    assert compare(home).notes == [
        "runs began with different revisions: 0.1.0 a, 0.1.0 b",
        "fewer than 3 seeds in a group: no intervals",
        few,
    ]


def test_five_seeds_that_are_all_better_have_a_verdict(tmp_path):
    write_group(tmp_path, [1.0, 2.0, 3.0, 4.0, 5.0], agent="dqn")
    write_group(tmp_path, [7.0, 8.0, 9.0, 10.0, 11.0], agent="qrdqn")
    found = compare(tmp_path)
    assert [each.verdict for each in found.pairs] == ["better"]
    assert [each.verdict for each in compare(tmp_path, lower_is_better=True).pairs] == ["worse"]
    assert found.notes == []


def test_a_result_is_written_as_tables_figures_and_plain_data(home, tmp_path):
    found = compare(home)
    out = tmp_path / "out"
    out.mkdir()
    names = {path.name for path in found.write(out)}
    assert names == {
        *("scores.csv", "pairs.csv", "runs.csv", "curves.csv"),
        *("comparison.png", "comparison.svg", "summary.json"),
    }
    summary = json.loads((out / "summary.json").read_text())
    assert summary["scores"][0]["mean"]["measured"] == 3
    assert summary["pairs"][0]["verdict"] == "undecided"
    assert len(summary["runs"]) == 6
    head, first, *_ = (out / "scores.csv").read_text().splitlines()
    assert head == "task,group,seeds,mean,mean_low,mean_high,iqm,iqm_low,iqm_high"
    assert first.startswith("CartPole-v1,dqn,3,3.0,")


def test_the_package_offers_it_and_lists_it():
    assert surefoot.compare is compare
    assert {"compare", "Comparison"} <= set(dir(surefoot))
