"""A policy that hands over: on a toy whose uncertainty is known, and with real agents."""

import json

import gymnasium
import numpy as np
import pytest

import surefoot
from surefoot.cautious import Cautious
from surefoot.cautious.storage import FILE
from surefoot.envs.windy_cliff import safe_action
from surefoot.errors import UserError
from tests.small_models import CLIFF, QUICK
from tests.unit.cautious.toys import LENGTH, Uniform, Unsure

UNSURE, SURE = np.array([0.99], np.float32), np.array([0.01], np.float32)


def second(observation):
    """The action that the toy's model never takes."""
    assert observation.shape == (1,)
    return 4


@pytest.fixture(scope="module")
def fitted():
    return Cautious(Unsure(), second, budget=0.2).fit(40)


def test_the_budget_is_met_on_held_out_episodes_and_on_new_ones(fitted):
    played = fitted.evaluate(40)
    share_error = np.sqrt(0.2 * 0.8 / (40 * LENGTH))
    # Steps follow each other in the hands of one, which makes the share less certain.
    assert played.hand_over_rate == pytest.approx(0.2, abs=4 * 2 * share_error)
    np.testing.assert_array_equal(
        played.evaluation.returns, [3 * LENGTH + each.sum() for each in played.handed_over]
    )
    np.testing.assert_array_equal(
        played.evaluation.events["saved"], [each.sum() for each in played.handed_over]
    )
    # Handing over 1 / 6, handing back at 2 / 3 of the steps: thresholds of a uniform signal.
    assert fitted.threshold == pytest.approx(1 - 1 / 6, abs=0.04)
    assert fitted.thresholds.hand_back == pytest.approx(1 - 2 / 6, abs=0.08)


def test_episodes_are_counted_once_whoever_plays_them(fitted):
    reported = []
    played = fitted.evaluate(7, after_episode=lambda: reported.append(1))
    assert len(reported) == 7
    np.testing.assert_array_equal(played.evaluation.lengths, [LENGTH] * 7)
    assert played.starts.sum() == 7
    cut = fitted.evaluate(2, max_episode_steps=5).evaluation
    np.testing.assert_array_equal((cut.lengths, cut.cut_off), ([5, 5], [True, True]))


def test_budgets_of_0_and_1_need_no_fit():
    never, always = (Cautious(Unsure(), second, budget=budget) for budget in (0, 1))
    assert never.evaluate(3).evaluation.returns.tolist() == [3.0 * LENGTH] * 3
    assert always.evaluate(3).evaluation.returns.tolist() == [4.0 * LENGTH] * 3
    with pytest.raises(UserError, match="not fitted yet, accepted: fit"):
        Cautious(Unsure(), second).predict(SURE)


def test_prediction_follows_the_state_and_forgets_it_when_an_episode_begins(fitted):
    cautious = fitted.at_budget(0.2)
    middle = np.array([(cautious.thresholds.hand_over + cautious.thresholds.hand_back) / 2], np.float32)
    state, taken = None, []
    for observation in (SURE, middle, UNSURE, middle, middle, SURE, middle):
        action, state = cautious.predict(observation, state)
        taken.append(int(action))
    assert taken == [3, 3, 4, 4, 4, 3, 3]
    assert (cautious.steps, cautious.handed_over_steps, cautious.hand_overs) == (7, 3, 1)
    _, state = cautious.predict(UNSURE, state)
    assert cautious.is_handed_over is True
    assert int(cautious.predict(middle, state, episode_start=np.array([True]))[0]) == 3
    assert int(cautious.predict(middle, state, episode_start=np.array([False]))[0]) == 4
    assert int(cautious.predict(middle)[0]) == 3


def test_a_batch_is_followed_row_by_row_with_the_states_of_both_policies(fitted):
    """As Stable-Baselines3's evaluate_policy calls it."""
    cautious = fitted.at_budget(0.2)
    batch = np.stack([UNSURE, SURE, UNSURE])
    actions, state = cautious.predict(batch, state=None, episode_start=np.ones(3, bool), deterministic=False)
    np.testing.assert_array_equal(actions, [4, 3, 4])
    middle = np.full((3, 1), sum(cautious.thresholds) / 2, np.float32)
    starts = np.array([False, False, True])
    actions, _ = cautious.predict(middle, state=state, episode_start=starts, deterministic=False)
    np.testing.assert_array_equal(actions, [4, 3, 3])
    np.testing.assert_array_equal(cautious.is_handed_over, [True, False, False])
    last_state, last_starts, deterministic = cautious.model.states[-1]
    assert (last_state, deterministic) == ("mine", False)
    np.testing.assert_array_equal(last_starts, starts)
    with pytest.raises(UserError, match="a state of 3 for a batch of 1, accepted: None, or what predict"):
        cautious.predict(SURE, state)
    with pytest.raises(UserError, match="accepted: None, or what predict returned"):
        cautious.predict(SURE, "mine")


def test_the_measure_is_that_of_the_action_that_the_model_would_take(fitted):
    """The toy's second action has an uncertainty of 100, and is never taken."""
    signal = np.concatenate(fitted.evaluate(2).signal)
    assert signal.max() < 1
    largest = Cautious(
        Unsure(), second, measure=lambda beliefs, _: np.asarray(beliefs.epistemic).max(axis=-1)
    )
    assert set(np.concatenate(largest.fit(2).evaluate(2).signal)) == {100.0}


@pytest.mark.parametrize("error", [RuntimeError, RuntimeError("call the operator")])
def test_an_exception_as_a_fallback_is_raised_where_the_agent_is_not_sure(error):
    cautious = Cautious(Unsure(), error, budget=0.2).fit(4)
    cautious.predict(SURE)
    with pytest.raises(RuntimeError) as raised:
        cautious.predict(UNSURE)
    message = "its uncertainty is 0.99" if isinstance(error, type) else "call the operator"
    assert message in str(raised.value)
    assert cautious.hand_overs == 1


def test_a_model_as_a_fallback_decides_by_itself():
    class Other:
        def predict(self, observation, deterministic=True):
            assert deterministic
            return np.full(len(observation), 4), None

    by_model = Cautious(Unsure(), Other(), budget=1)
    np.testing.assert_array_equal(by_model.predict(np.stack([SURE, UNSURE]))[0], [4, 4])


def test_random_as_a_fallback_draws_every_action_alike():
    cautious = Cautious(Unsure(), "random", budget=1, seed=5)
    returns = cautious.evaluate(20).evaluation.returns
    assert returns.mean() / LENGTH == pytest.approx(3.5, abs=4 * 0.5 / np.sqrt(20 * LENGTH))
    again = Cautious(Unsure(), "random", budget=1, seed=5).evaluate(20).evaluation.returns
    np.testing.assert_array_equal(returns, again)


@pytest.mark.parametrize(
    ("fallback", "message"),
    [
        ("randm", "fallback: got 'randm', accepted: a function of the observation"),
        (3, "fallback: got '3', accepted: a function"),
        (lambda _: 7, r"fallback: its action is 7, accepted: Discrete\(2, start=3\)"),
        (lambda _: "up", r"fallback: its action is up, accepted: Discrete"),
    ],
)
def test_a_fallback_that_cannot_act_is_refused(fallback, message):
    with pytest.raises(UserError, match=message):
        Cautious(Unsure(), fallback, budget=1).predict(SURE)


@pytest.mark.parametrize("budget", [-0.1, 1.5, float("nan")])
def test_a_budget_is_a_share(budget, fitted):
    with pytest.raises(UserError, match=r"budget: got .*, accepted: a share from 0 to 1"):
        Cautious(Unsure(), second, budget=budget)
    with pytest.raises(UserError, match="budget"):
        fitted.at_budget(budget)


def test_an_agent_without_epistemic_uncertainty_is_refused_in_one_line():
    with pytest.raises(UserError) as refused:
        Cautious(surefoot.QRDQN(CLIFF, **QUICK), safe_action)
    expected = (
        "model: got QRDQN, without epistemic uncertainty, "
        "accepted: an agent that has, such as UADQN or BootstrappedDQN"
    )
    assert str(refused.value) == expected


def test_saved_thresholds_are_those_that_were_fitted_and_belong_to_their_model(fitted, tmp_path):
    file = fitted.save(tmp_path)
    assert file == tmp_path / FILE
    assert json.loads(file.read_text())["budget"] == 0.2
    loaded = Cautious.load(tmp_path, Unsure(), second)
    assert (loaded.thresholds, loaded.budget) == (fitted.thresholds, 0.2)
    with pytest.raises(UserError, match=r"accepted: the one that .* was fitted to"):
        Cautious.load(tmp_path, Unsure(seed=1), second)
    with pytest.raises(UserError, match="not fitted in this process"):
        loaded.at_budget(0.5)


@pytest.mark.parametrize("budget", [0, 1])
def test_budgets_that_need_no_thresholds_are_saved_as_json(budget, tmp_path):
    file = Cautious(Unsure(), second, budget=budget).save(tmp_path / "mine.json")
    assert "Infinity" not in file.read_text()
    loaded = Cautious.load(file, Unsure(), second)
    assert int(loaded.predict(SURE)[0]) == 3 + budget


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"format": 2}', '{"format": 1, "model": null, "budget": 0.2, "hand_over": null}'],
)
def test_a_file_that_holds_no_thresholds_is_refused(text, tmp_path):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(UserError, match="accepted"):
        Cautious.load(tmp_path, Unsure(), second)


@pytest.fixture(scope="module")
def model():
    return surefoot.UADQN(CLIFF, **QUICK).learn(60, progress=False)


def test_without_a_budget_the_episodes_are_those_of_the_model(model):
    played = Cautious(model, safe_action, budget=0).evaluate(21, seed=3)
    alone = model.evaluate(21, seed=3)
    np.testing.assert_array_equal(played.evaluation.returns, alone.returns)
    np.testing.assert_array_equal(played.evaluation.lengths, alone.lengths)
    np.testing.assert_array_equal(played.evaluation.events["fell"], alone.events["fell"])
    assert (played.hand_over_rate, played.hand_overs) == (0.0, 0)


def test_with_the_whole_budget_the_safe_path_is_walked(model):
    found = Cautious(model, safe_action, budget=1).evaluate(5, env=gymnasium.make(CLIFF))
    np.testing.assert_array_equal(found.evaluation.returns, [4.0] * 5)
    assert (found.hand_over_rate, found.hand_overs) == (1.0, 5)


def test_a_fitted_budget_is_met_and_another_attitude_to_risk_is_followed(model):
    cautious = Cautious(model, "random", budget=0.5, risk="mean-sd:1").fit(8)
    assert cautious.thresholds.hand_back <= cautious.threshold
    observation = model.observation_space.sample()
    expected, _ = model.predict(observation, risk="mean-sd:1")
    assert cautious.at_budget(0).predict(observation)[0] == expected


def test_side_by_side_the_episodes_are_those_played_one_after_the_other(fitted):
    together, alone = fitted.evaluate(20), fitted.evaluate(20, env=Uniform())
    np.testing.assert_array_equal(together.evaluation.returns, alone.evaluation.returns)
    np.testing.assert_array_equal(np.concatenate(together.signal), np.concatenate(alone.signal))
