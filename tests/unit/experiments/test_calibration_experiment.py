"""The experiment on calibration: errors against exact returns, candidates, claims, and a short one."""

from types import SimpleNamespace

import numpy as np
import pytest
from gymnasium.spaces import Box

from surefoot.agents import uadqn
from surefoot.agents.presets import resolve_settings
from surefoot.claims import Verdict
from surefoot.envs import delayed_bandit, tabular
from surefoot.experiments import calibration
from surefoot.experiments.calibration import CALIBRATED, CANDIDATES, PAPER, Config


def model_that_believes(mean, aleatoric):
    """A model with these beliefs of all states, `[state, action]`."""
    beliefs = SimpleNamespace(mean=mean, epistemic=np.ones_like(mean), aleatoric=aleatoric)
    return SimpleNamespace(beliefs=lambda _obs: beliefs)


def test_a_model_that_believes_the_exact_returns_has_no_error():
    table = delayed_bandit.table()
    exact = tabular.exact_returns(table, tabular.best_policy(table))
    found = calibration.errors(model_that_believes(exact.mean, exact.sd), table)
    assert found["calibration/mean_error"] == pytest.approx(0, abs=1e-6)
    assert found["calibration/aleatoric_error"] == pytest.approx(0, abs=1e-6)
    assert found["calibration/noisy_ratio"] == pytest.approx(1)
    assert found["calibration/certain_sd"] == pytest.approx(0, abs=1e-6)


def test_errors_are_those_of_the_beliefs():
    table = delayed_bandit.table()
    exact = tabular.exact_returns(table, tabular.best_policy(table))
    found = calibration.errors(model_that_believes(exact.mean + 0.5, exact.sd * 2 + (exact.sd == 0)), table)
    assert found["calibration/mean_error"] == pytest.approx(0.5)
    assert found["calibration/noisy_ratio"] == pytest.approx(2)
    assert found["calibration/certain_sd"] == pytest.approx(1)


def test_the_parts_make_up_the_preset():
    parts = {name: value for part in calibration.PARTS.values() for name, value in part.items()}
    paper = resolve_settings("uadqn", "minatar", {})
    calibrated = resolve_settings("uadqn", "calibrated", {"replay_capacity": 10}, Box(0, 1, (3,)))
    changed = {name: getattr(calibrated, name) for name in parts if name != "normalise"}
    assert parts == {**changed, "normalise": True}
    same = set(uadqn.CALIBRATED_SETTINGS) - set(parts)
    assert all(getattr(calibrated, name) == getattr(paper, name) for name in same)


@pytest.mark.parametrize("name", CANDIDATES)
def test_the_settings_of_every_candidate_are_accepted(name):
    own = {key: value for key, value in CANDIDATES[name].items() if key != "normalise"}
    resolve_settings("uadqn", "minatar", {**calibration.LEARNING_SETTINGS, **own})


def table_of(ratios, certain):
    """Four seeds of both presets on both tasks, with these measurements."""
    rows = [
        (task, name, seed) for task in calibration.TASKS for name in (PAPER, CALIBRATED) for seed in range(4)
    ]
    names = np.array([name for _, name, _ in rows])
    wobble = np.array([0.001 * seed for _, _, seed in rows])
    return {
        "task": np.array([task for task, _, _ in rows]),
        "candidate": names,
        "seed": np.array([seed for _, _, seed in rows]),
        "noisy_ratio": np.where(names == PAPER, ratios[0], ratios[1]) + wobble,
        "certain_sd": np.where(names == PAPER, certain[0], certain[1]) + wobble,
        "aleatoric_error": np.where(names == PAPER, 0.5, 0.1) + wobble**2 * (names == PAPER),
    }


def test_claims_follow_from_the_errors():
    found = calibration.claims(table_of(ratios=(0.7, 1.0), certain=(0.1, 0.5)))
    verdicts = [each.verdict for each in found]
    of_a_task = [Verdict.FAILS, Verdict.HOLDS, Verdict.HOLDS, Verdict.FAILS]
    assert verdicts == [*of_a_task, *of_a_task, Verdict.HOLDS, Verdict.HOLDS]


def test_a_short_experiment_gives_a_table_and_a_figure(sweep, monkeypatch):
    (*_, last), (*_, task) = calibration.TASKS, calibration.TASKS.values()
    monkeypatch.setattr(calibration, "TASKS", {last: task})
    outcome = calibration.run(Config(seeds=1, steps=250, candidates="paper"), sweep)
    table = outcome.tables["data"]
    assert table["task"].tolist() == [last]
    assert np.isfinite(table["aleatoric_error"]).all()
    assert len(outcome.figure.axes) == 3
