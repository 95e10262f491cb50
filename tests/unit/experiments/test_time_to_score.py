"""Time to score: when a score is reached, claims, and a short experiment."""

import json

import numpy as np
import pytest

from surefoot.agents.presets import PRESETS, resolve_settings
from surefoot.claims import Verdict
from surefoot.experiments import time_to_score
from surefoot.experiments.time_to_score import EPISODES, Config, RunKey


def write_run(directory, returns, *, seconds):
    """A run whose episodes take ten steps each."""
    directory.mkdir(parents=True)
    rows = [f"{i + 1},{10 * (i + 1)},{each},10,True" for i, each in enumerate(returns)]
    (directory / "episodes.csv").write_text("\n".join(["episode,step,return,length,terminated", *rows, ""]))
    ends = range(10, 10 * len(returns) + 1, 10)
    # By the clock on the wall it takes three times as long as on the core: other programs run, too.
    lines = [
        {
            "step": end,
            "time/fps": 1 / (3 * seconds),
            "time/elapsed": 3 * end * seconds,
            "time/cpu": end * seconds,
        }
        for end in ends
    ]
    (directory / "timing.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return directory


def test_a_score_is_reached_by_the_mean_of_fifty_episodes(tmp_path):
    returns = [0.0] * 60 + [20.0] * 60
    path = write_run(tmp_path / "run", returns, seconds=0.5)
    # Of the last 50 episodes, 25 have a return of 20 for the first time after the 85th.
    assert time_to_score.steps_to_score(path, 10.0) == 850
    assert time_to_score.seconds_to_score(path, 10.0) == pytest.approx(425)
    assert np.isnan(time_to_score.steps_to_score(path, 20.5))
    assert np.isnan(time_to_score.seconds_to_score(path, 20.5))


def test_before_fifty_episodes_no_score_is_reached(tmp_path):
    path = write_run(tmp_path / "run", [30.0] * (EPISODES - 1), seconds=0.5)
    assert np.isnan(time_to_score.steps_to_score(path, 10.0))
    path = write_run(tmp_path / "longer", [30.0] * EPISODES, seconds=0.5)
    assert time_to_score.steps_to_score(path, 10.0) == 10 * EPISODES


def table_of(fast_seconds, paper_seconds, fast_scores, paper_scores):
    return {
        "preset": np.array(["fast"] * len(fast_seconds) + ["paper"] * len(paper_seconds)),
        "seconds_to_score": np.array([*fast_seconds, *paper_seconds], float),
        "final_score": np.array([*fast_scores, *paper_scores], float),
    }


@pytest.mark.parametrize(
    ("fast_seconds", "fast_scores", "verdicts"),
    [
        ([100, 120, 110], [12, 13, 14], ["holds", "holds"]),
        ([800, 900, 1000], [12, 13, 14], ["fails", "holds"]),
        ([100, 120, 110], [2, 3, 4], ["holds", "fails"]),
        ([100, np.nan, 110], [12, 13, 14], ["undecided", "holds"]),
    ],
)
def test_fast_must_be_fast_and_as_good(fast_seconds, fast_scores, verdicts):
    table = table_of(fast_seconds, [1000, 900, 1100], fast_scores, [12, 14, 15])
    found = time_to_score.claims(table)
    assert [each.verdict for each in found] == [Verdict(each) for each in verdicts]


def test_one_seed_decides_nothing():
    found = time_to_score.claims(table_of([100], [1000], [13], [14]))
    assert {each.verdict for each in found} == {Verdict.UNDECIDED}


def test_presets_differ_in_what_makes_training_fast_alone():
    plan = [time_to_score.planned_run(Config(), RunKey(preset, 3)) for preset in ("paper", "fast")]
    paper, fast = (vars(resolve_settings("uadqn", run.settings["preset"], {})) for run in plan)
    changed = {name for name in paper if paper[name] != fast[name]}
    assert changed == set(PRESETS["fast"].common) == {"envs", "update_period", "batch_size", "learning_rate"}


def test_a_short_experiment_compares_both_presets(sweep, monkeypatch):
    small = {"envs": 2, "update_period": 2, "batch_size": 4, "learning_rate": 1e-3}
    monkeypatch.setattr(time_to_score, "AGENT", "dqn")
    monkeypatch.setattr(time_to_score, "PRESETS", {"paper": "fast", "fast": "fast"})
    monkeypatch.setitem(PRESETS, "fast", PRESETS["fast"]._replace(common=small))
    outcome = time_to_score.run(Config(seeds=1, steps=200), sweep)
    assert set(outcome.tables["scores"]["preset"]) == {"paper", "fast"}
    assert len(outcome.tables["data"]["step"]) == 2 * time_to_score.POINTS
    assert all(seconds > 0 for seconds in outcome.tables["scores"]["seconds"])
