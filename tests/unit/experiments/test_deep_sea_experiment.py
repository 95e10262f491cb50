"""The experiment on deep sea: what counts as solved, rounds, claims, and a short one."""

import numpy as np
import pytest

from surefoot.agents.presets import resolve_settings
from surefoot.claims import Verdict
from surefoot.errors import UserError
from surefoot.experiments import deep_sea
from surefoot.experiments.deep_sea import CANDIDATES, Config


def test_solved_is_the_first_episode_with_a_mean_regret_below_nine_tenths():
    episodes = np.array([10, 20, 30, 40])
    assert deep_sea.solved_at(episodes, np.array([1.0, 0.9, 0.89, 0.95])) == 30
    assert np.isnan(deep_sea.solved_at(episodes, np.full(4, 0.9)))


def test_long_runs_have_a_first_round_and_sizes_have_equally_many_episodes():
    assert deep_sea.rounds(Config(steps=8_000, sizes=(5, 20))) == [400]
    assert deep_sea.rounds(Config(steps=60_000, sizes=(20,))) == [1_000, 3_000]
    assert deep_sea.rounds(Config(steps=400_000, sizes=(40,))) == [1_000, 2_000, 4_000, 10_000]
    assert deep_sea.rounds(Config(steps=100, sizes=(100,))) == [1]


def test_who_solves_a_size_with_no_seed_is_not_tried_on_larger_ones(monkeypatch):
    tried = []

    def solved_episodes(_config, _sweep, size, names):
        tried.append((size, list(names)))
        solved = {"dqn": 5, "thompson-draw": 20}
        return {
            (name, seed): (7.0 if size <= solved[name] and seed else np.nan, 10)
            for name in names
            for seed in (0, 1)
        }

    monkeypatch.setattr(deep_sea, "solved_episodes", solved_episodes)
    config = Config(seeds=2, sizes=(20, 5, 10), candidates="dqn,thompson-draw")
    outcome = deep_sea.run(config, lambda _plan: {})
    assert tried == [(5, ["dqn", "thompson-draw"]), (10, ["dqn", "thompson-draw"]), (20, ["thompson-draw"])]
    table = outcome.tables["data"]
    assert table["size"][table["candidate"] == "dqn"].tolist() == [5, 5, 10, 10]
    assert [each.name.split(": ")[1] for each in outcome.claims] == ["Thompson, one draw an episode"]


@pytest.mark.parametrize("name", CANDIDATES)
def test_the_settings_of_every_candidate_are_accepted(name):
    candidate = CANDIDATES[name]
    resolve_settings(candidate.agent, "minatar", {**deep_sea.LEARNING_SETTINGS, **candidate.settings})


def test_every_explorer_and_posterior_is_among_the_candidates():
    from surefoot.exploration import EXPLORERS
    from surefoot.posteriors import POSTERIORS

    used = [candidate.settings for candidate in CANDIDATES.values() if candidate.agent == "uadqn"]
    assert {each["explorer"] for each in used} == set(EXPLORERS)
    assert {each["posterior"] for each in used} == set(POSTERIORS)


def table_of(solved, size=20):
    """Ten seeds of each candidate on one size, of which this many solve it."""
    rows = [(name, seed < count) for name, count in solved.items() for seed in range(10)]
    return {
        "candidate": np.array([name for name, _ in rows]),
        "size": np.full(len(rows), size),
        "solved_episode": np.array([100.0 if is_solved else np.nan for _, is_solved in rows]),
    }


def test_claims_follow_from_who_solves_the_largest_size():
    found = deep_sea.claims(table_of({"thompson-draw": 10, "dqn": 0, "qrdqn": 10, "paper": 0}), 3_000)
    assert [each.verdict for each in found] == [
        Verdict.HOLDS,
        Verdict.HOLDS,
        Verdict.FAILS,
        Verdict.FAILS,
    ]
    assert "size 20 within 3,000 episodes" in found[0].name
    assert len(deep_sea.claims(table_of({"thompson-draw": 10}), 3_000)) == 1


def test_a_size_that_chance_solves_decides_nothing():
    (found,) = deep_sea.claims(table_of({"thompson-draw": 10}, size=10), 3_000)
    assert found.verdict == Verdict.UNDECIDED


def test_a_short_experiment_gives_a_table_and_a_figure_and_continues_only_what_is_unsolved(sweep):
    config = Config(seeds=2, steps=160, sizes=(2,), candidates="dqn")
    outcome = deep_sea.run(config, sweep)
    table = outcome.tables["data"]
    assert table["seed"].tolist() == [0, 1]
    # A grid of two rows is solved by chance, in one episode of four.
    assert np.all(np.isfinite(table["solved_episode"]))
    assert np.all(table["episodes"] <= 80)
    assert [axes.get_title(loc="left") for axes in outcome.figure.axes] == ["Agents"]


@pytest.mark.parametrize("sizes", [(), (1,), (5, 5), (101,)])
def test_impossible_sizes_are_refused(sizes):
    with pytest.raises(UserError, match="sizes: got"):
        Config(sizes=sizes)


def test_the_panel_of_posteriors_shows_what_they_differ_from_and_leaves_out_what_was_not_tried():
    names = ["thompson-draw", "thompson-draw", "anchored"]
    table = {
        "group": np.array([CANDIDATES[name].group for name in names]),
        "candidate": np.array(names),
        "label": np.array([CANDIDATES[name].label for name in names]),
        "size": np.array([5, 10, 5]),
        "seed": np.zeros(3, int),
        "solved_episode": np.array([30.0, 60.0, np.nan]),
        "episodes": np.full(3, 100),
    }
    _, posteriors = deep_sea.figure.draw(table, deep_sea.ALSO_SHOWN).axes
    legend = [text.get_text() for text in posteriors.get_legend().get_texts()]
    assert legend == ["prior functions, own targets and actions", "anchored"]
    marks = [len(line.get_xdata()) for line in posteriors.get_lines()[:4]]
    assert marks == [2, 0, 0, 1]  # Solved and unsolved sizes of each.
