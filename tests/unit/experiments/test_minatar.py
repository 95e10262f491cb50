"""Figure 3's experiment: its plan, scores of made-up runs, its claims, and a short real run."""

import numpy as np
import pytest

from surefoot import statistics
from surefoot.claims import Verdict
from surefoot.experiments import minatar
from surefoot.experiments.minatar import Cell, Config
from surefoot.errors import UserError

FULL = Config(seeds=10)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """What is made up here is clear enough for a few resamples."""
    monkeypatch.setattr(statistics, "RESAMPLES", 300)


def test_the_defaults_are_the_papers():
    assert (FULL.seeds, FULL.steps, FULL.preset) == (10, 5_000_000, "paper")
    cells = minatar.cells(FULL)
    assert len({(cell.game, cell.agent) for cell in cells}) == 5 * 4
    assert len([cell for cell in cells if cell.epsilon is None]) == 5 * 4 * 10
    plan = [minatar.planned(FULL, cell) for cell in cells]
    assert len({run.name for run in plan}) == len(plan)


def test_more_seeds_and_steps_extend_a_plan():
    small, large = Config(seeds=1, steps=1_000), Config(seeds=2, steps=2_000)
    first = {run.name: run.settings for run in (minatar.planned(small, c) for c in minatar.cells(small))}
    second = {run.name: run.settings for run in (minatar.planned(large, c) for c in minatar.cells(large))}
    assert first.items() <= second.items()


def test_more_games_extend_a_plan():
    one, all_ = Config(games="breakout", agents="qrdqn"), Config()
    assert set(minatar.cells(one)) < set(minatar.cells(all_))


def test_presets_set_beta_and_are_kept_apart():
    cell = Cell("breakout", "uadqn", None, 0)
    paper, released = (minatar.planned(Config(preset=preset), cell) for preset in ("paper", "released"))
    assert "exploration" not in paper.settings  # UA-DQN's own default is the paper's 0.2.
    assert released.settings["exploration"] == 0.04
    assert paper.name != released.name
    same = Cell("breakout", "dqn", None, 0)  # The released code has the paper's settings for it.
    assert minatar.planned(Config(preset="released"), same) == minatar.planned(Config(), same)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"games": "pong"}, "--games: got pong"),
        ({"games": " , "}, "--games: got nothing"),
        ({"agents": "uadqn,dqm"}, "--agents: got dqm"),
        ({"seeds": 0}, "--seeds"),
        ({"steps": 0}, "--steps"),
    ],
)
def test_what_there_is_not_is_refused(settings, words):
    with pytest.raises(UserError, match=words):
        Config(**settings)


def a_run(path, episodes, nongreedy=()):
    path.mkdir()
    lines = [f"{i},{step},{gain},10,True" for i, (step, gain) in enumerate(episodes, 1)]
    (path / "episodes.csv").write_text("\n".join(["episode,step,return,length,terminated", *lines, ""]))
    (path / "metrics.jsonl").write_text(
        "".join(
            f'{{"step": {step}, "uncertainty/nongreedy_fraction": {value}}}\n' for step, value in nongreedy
        )
    )
    return path


def test_curves_and_scores_of_a_run(tmp_path):
    episodes = [(1_000, 1.0), (2_000, 3.0), (90_000, 7.0), (90_001, 9.0), (100_000, 11.0), (100_001, 99.0)]
    path = a_run(tmp_path / "run", episodes, [(1_000, 0.4), (100_000, 0.2)])
    curve = minatar.curve_of(path, 100_000)
    assert curve["step"].tolist() == list(range(2_000, 100_001, 2_000))
    assert curve["mean_return"][0] == 2
    assert np.isnan(curve["mean_return"][1])
    assert curve["episodes"].sum() == 5
    assert curve["nongreedy_fraction"][[0, -1]].tolist() == [0.4, 0.2]
    assert minatar.score_of(path, 100_000) == 10  # Of the last 10,000 steps.
    assert np.isnan(minatar.score_of(a_run(tmp_path / "none", []), 100_000))


def made_up(means, spread=0.1, nongreedy=0.15):
    rng = np.random.default_rng(0)
    cells = minatar.cells(FULL)
    scores = {
        cell: (means["more epsilon"] if cell.epsilon else means[cell.agent]) + rng.normal(0, spread)
        for cell in cells
    }
    curve = {
        "step": np.array([1]),
        "nongreedy_fraction": np.array([nongreedy]),
    }
    curves = {
        cell: curve | {"nongreedy_fraction": curve["nongreedy_fraction"] + rng.normal(0, 0.01)}
        for cell in cells
    }
    return curves, scores


PAPER = {"dqn": 5.0, "bootstrapped": 5.5, "qrdqn": 8.0, "uadqn": 10.0, "more epsilon": 6.0}


def test_every_claim_holds_where_all_is_as_the_paper_says():
    found = minatar.claims(FULL, *made_up(PAPER))
    assert {each.verdict for each in found} == {Verdict.HOLDS}
    # Three pairs, each on five games and twice over all; five fractions; one of epsilon.
    assert len(found) == 3 * (5 + 2) + 5 + 1


@pytest.mark.parametrize(
    ("changes", "failing"),
    [
        ({"uadqn": 7.0}, "all games: IQM of scores, uadqn less qrdqn"),
        ({"uadqn": 7.0}, "all games: probability that uadqn beats qrdqn"),
        ({"dqn": 9.0}, "asterix: score of qrdqn less dqn"),
        ({"more epsilon": 9.0}, "breakout: score of qrdqn less qrdqn, epsilon 0.1"),
    ],
)
def test_a_claim_fails_where_the_opposite_is_measured(changes, failing):
    found = {each.name: each.verdict for each in minatar.claims(FULL, *made_up({**PAPER, **changes}))}
    assert found[failing] == Verdict.FAILS


def test_too_greedy_is_seen():
    found = {each.name: each.verdict for each in minatar.claims(FULL, *made_up(PAPER, nongreedy=0.4))}
    assert found["freeway: non-greedy actions of uadqn at the end"] == Verdict.FAILS


def test_short_or_few_runs_decide_nothing():
    for config in (Config(steps=100_000), Config(seeds=4)):
        found = minatar.claims(config, *made_up(PAPER))
        assert {each.verdict for each in found} == {Verdict.UNDECIDED}


def test_alike_agents_are_seldom_told_apart_with_the_fewest_seeds_that_decide():
    def told_apart(seeds, trials=150):
        rng = np.random.default_rng(0)
        pairs = [([rng.normal(size=seeds)], [rng.normal(size=seeds)]) for _ in range(trials)]
        intervals = [statistics.bootstrap_estimate(minatar._gap, *pair).interval for pair in pairs]
        return np.mean([low > 0 or high < 0 for low, high in intervals])

    assert told_apart(minatar.FEWEST_SEEDS) < 0.12
    assert told_apart(3) > 0.12


def test_a_run_without_a_score_leaves_other_agents_to_be_compared():
    curves, scores = made_up(PAPER)
    missing = next(cell for cell in scores if (cell.game, cell.label) == ("freeway", "dqn"))
    found = {each.name: each.verdict for each in minatar.claims(FULL, curves, {**scores, missing: np.nan})}
    assert found["all games: IQM of scores, uadqn less qrdqn"] == Verdict.HOLDS
    assert found["all games: IQM of scores, qrdqn less dqn"] == Verdict.UNDECIDED


def test_published_curves_are_in_the_package():
    found = minatar.published()
    assert set(found["game"]) == {"breakout", "freeway", "space_invaders"}
    rows = (found["game"] == "breakout") & (found["agent"] == "uadqn") & (found["step"] == 300_000)
    assert found["mean_return"][rows] == pytest.approx(9.8, abs=0.05)


def test_a_short_run_gives_tables_and_a_figure_and_goes_on(sweep):
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
