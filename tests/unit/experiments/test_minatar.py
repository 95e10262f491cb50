"""Figure 3: the experiment's plan, scores of synthetic runs, its claims, and a short real run."""

import numpy as np
import pytest

from surefoot import statistics
from surefoot.claims import Verdict
from surefoot.errors import UserError
from surefoot.experiments import minatar
from surefoot.experiments.minatar import Config, CurveKey

FULL = Config()


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """The differences between synthetic scores are clear enough for a few resamples."""
    monkeypatch.setattr(statistics, "RESAMPLES", 300)


def test_the_defaults_are_those_of_the_paper():
    assert (FULL.seeds, FULL.steps, FULL.preset) == (10, 5_000_000, "paper")
    keys = minatar.curve_keys(FULL)
    assert len({(key.game, key.agent) for key in keys}) == 5 * 4
    assert len([key for key in keys if key.epsilon is None]) == 5 * 4 * 10
    plan = [minatar.planned_run(FULL, key) for key in keys]
    assert len({run.name for run in plan}) == len(plan)


def test_more_seeds_and_steps_extend_a_plan():
    def plan(config):
        runs = [minatar.planned_run(config, key) for key in minatar.curve_keys(config)]
        return {run.name: run.settings for run in runs}

    small, large = plan(Config(seeds=1, steps=1_000)), plan(Config(seeds=2, steps=2_000))
    assert small.items() <= large.items()


def test_more_games_extend_a_plan():
    one, all_ = Config(games="breakout", agents="qrdqn"), Config()
    assert set(minatar.curve_keys(one)) < set(minatar.curve_keys(all_))


def test_presets_set_beta_and_give_runs_of_different_names():
    key = CurveKey("breakout", "uadqn", None, 0)
    paper, released = (minatar.planned_run(Config(preset=preset), key) for preset in ("paper", "released"))
    assert "exploration" not in paper.settings  # UA-DQN's own default is the paper's 0.2.
    assert released.settings["exploration"] == 0.04
    assert paper.name != released.name
    dqn = CurveKey("breakout", "dqn", None, 0)  # The released code has the paper's settings for DQN.
    assert minatar.planned_run(Config(preset="released"), dqn) == minatar.planned_run(Config(), dqn)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"games": "pong"}, "games: got pong, accepted: asterix, breakout"),
        ({"games": " , "}, "games: got nothing, accepted: some of asterix"),
        ({"agents": "uadqn,dqm"}, "agents: got dqm"),
        ({"seeds": 0}, "seeds: got 0, accepted: numbers from 1"),
        ({"steps": 0}, "steps: got 0, accepted: numbers from 1"),
    ],
)
def test_unknown_names_and_numbers_out_of_bounds_are_refused(settings, message):
    with pytest.raises(UserError, match=message):
        Config(**settings)


def synthetic_run(path, episodes, nongreedy=()):
    path.mkdir()
    lines = [f"{i},{step},{total},10,True" for i, (step, total) in enumerate(episodes, 1)]
    (path / "episodes.csv").write_text("\n".join(["episode,step,return,length,terminated", *lines, ""]))
    (path / "metrics.jsonl").write_text(
        "".join(
            f'{{"step": {step}, "uncertainty/nongreedy_fraction": {value}}}\n' for step, value in nongreedy
        )
    )
    return path


def test_learning_curve_and_final_score_of_a_run(tmp_path):
    episodes = [(1_000, 1.0), (2_000, 3.0), (90_000, 7.0), (90_001, 9.0), (100_000, 11.0), (100_001, 99.0)]
    path = synthetic_run(tmp_path / "run", episodes, [(1_000, 0.4), (100_000, 0.2)])
    curve = minatar.learning_curve(path, 100_000)
    assert curve["step"].tolist() == list(range(2_000, 100_001, 2_000))
    assert curve["mean_return"][0] == 2
    assert np.isnan(curve["mean_return"][1])
    assert curve["episodes"].sum() == 5
    assert curve["nongreedy_fraction"][[0, -1]].tolist() == [0.4, 0.2]
    assert minatar.final_score(path, 100_000) == 10  # Of the last 10,000 steps.
    assert np.isnan(minatar.final_score(synthetic_run(tmp_path / "none", []), 100_000))


def synthetic_results(means, spread=0.1, nongreedy=0.15):
    rng = np.random.default_rng(0)
    keys = minatar.curve_keys(FULL)
    scores = {
        key: means["higher epsilon" if key.epsilon else key.agent] + rng.normal(0, spread) for key in keys
    }
    curves = {
        key: {"step": np.array([1]), "nongreedy_fraction": np.array([nongreedy + rng.normal(0, 0.01)])}
        for key in keys
    }
    return curves, scores


PAPER = {"dqn": 5.0, "bootstrapped": 5.5, "qrdqn": 8.0, "uadqn": 10.0, "higher epsilon": 6.0}


def test_every_claim_holds_for_the_results_that_the_paper_describes():
    found = minatar.claims(*synthetic_results(PAPER))
    assert {each.verdict for each in found} == {Verdict.HOLDS}
    # Three pairs, each on five games and twice over all games; five fractions; one claim on epsilon.
    assert len(found) == 3 * (5 + 2) + 5 + 1


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({"uadqn": 7.0}, "all games: IQM of scores, uadqn less qrdqn"),
        ({"uadqn": 7.0}, "all games: probability that uadqn beats qrdqn"),
        ({"dqn": 9.0}, "asterix: score of qrdqn less dqn"),
        ({"higher epsilon": 9.0}, "breakout: score of qrdqn less qrdqn, epsilon 0.1"),
    ],
)
def test_a_claim_fails_if_the_opposite_is_measured(changes, failing):
    found = {each.name: each.verdict for each in minatar.claims(*synthetic_results({**PAPER, **changes}))}
    assert found[failing] == Verdict.FAILS


def test_the_claim_on_non_greedy_actions_fails_if_there_are_too_many():
    found = {each.name: each.verdict for each in minatar.claims(*synthetic_results(PAPER, nongreedy=0.4))}
    assert found["freeway: non-greedy actions of uadqn at the end"] == Verdict.FAILS


def test_two_equal_agents_are_seldom_told_apart_with_the_fewest_seeds_that_decide(monkeypatch):
    monkeypatch.setattr(statistics, "RESAMPLES", 100)

    def fraction_told_apart(seeds, trials=150):
        rng = np.random.default_rng(0)
        pairs = [([rng.normal(size=seeds)], [rng.normal(size=seeds)]) for _ in range(trials)]
        difference = statistics.interquartile_mean_difference
        intervals = [statistics.bootstrap_estimate(difference, *pair).interval for pair in pairs]
        return np.mean([low > 0 or high < 0 for low, high in intervals])

    assert fraction_told_apart(minatar.EXPERIMENT.min_seeds) < 0.12
    assert fraction_told_apart(3) > 0.12


def test_a_run_without_a_score_does_not_affect_claims_on_other_agents():
    curves, scores = synthetic_results(PAPER)
    missing = next(key for key in scores if (key.game, key.label) == ("freeway", "dqn"))
    found = {each.name: each.verdict for each in minatar.claims(curves, {**scores, missing: np.nan})}
    assert found["all games: IQM of scores, uadqn less qrdqn"] == Verdict.HOLDS
    assert found["all games: IQM of scores, qrdqn less dqn"] == Verdict.UNDECIDED


def test_published_curves_are_in_the_package():
    found = minatar.published_curves()
    assert set(found["game"]) == {"breakout", "freeway", "space_invaders"}
    rows = (found["game"] == "breakout") & (found["agent"] == "uadqn") & (found["step"] == 300_000)
    assert found["mean_return"][rows] == pytest.approx(9.8, abs=0.05)


def test_a_short_experiment_gives_tables_and_a_figure_and_can_be_extended(sweep):
    pytest.importorskip("pgx")
    config = Config(seeds=1, steps=1_200, games="breakout", agents="dqn")
    outcome = minatar.run(config, sweep)
    assert set(outcome.tables["data"]["agent"]) == {"dqn"}
    assert outcome.tables["scores"]["score"].shape == (1,)
    assert outcome.tables["scores"]["seconds"].shape == (1,)
    assert np.nanmean(outcome.tables["data"]["mean_return"]) > 0
    assert len(outcome.figure.axes) == 1
    longer = minatar.run(Config(seeds=1, steps=1_500, games="breakout", agents="dqn"), sweep)
    assert longer.tables["data"]["episodes"].sum() >= outcome.tables["data"]["episodes"].sum()
