"""Inference with a model: actions, beliefs, attitudes to risk, exploration, evaluation."""

import numpy as np
import pytest

import surefoot
from surefoot.model import MODELS
from surefoot.runs.live_run import SavedLearner
from tests.small_models import QUICK, TwoArms, have_equal_learners, quick_with


@pytest.fixture(scope="module", params=quick_with("uadqn", "dqn"))
def trained(request):
    return MODELS[request.param]("CartPole-v1", seed=1, **QUICK).learn(120, progress=False)


def test_learning_changes_it_and_returns_it(trained):
    fresh = type(trained)("CartPole-v1", seed=1, **QUICK)
    assert isinstance(trained, surefoot.Model)
    assert trained.num_timesteps == 120
    assert fresh.num_timesteps == 0
    assert not have_equal_learners(trained, fresh)


def test_one_observation_gives_a_number_and_a_batch_as_many(trained):
    obs = trained.observation_space.sample() * 0.01
    batch = np.stack([obs, -obs, 2 * obs])
    action, state = trained.predict(obs, state="mine")
    assert state == "mine"
    assert action in {0, 1}
    assert {action: "hashable"}
    actions, _ = trained.predict(batch)
    assert actions.shape == (3,)
    assert actions[0] == action
    assert trained.predict(obs.tolist())[0] == action


def test_beliefs_of_one_and_of_many_agree(trained):
    obs = np.array([0.01, 0.0, -0.02, 0.1], np.float32)
    one, many = trained.beliefs(obs), trained.beliefs(np.stack([obs, obs]))
    assert one.mean.shape == (2,)
    for a, b in zip(one, many, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b[1], a, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def gambler():
    settings = {"learning_rate": 5e-3, "learning_starts": 100, "target_period": 50, "exploration": 4.0}
    model = surefoot.UADQN(TwoArms(), network="mlp:16", batch_size=32, **settings)
    return model.learn(1_500, progress=False)


def test_the_attitude_to_risk_changes_at_call_time_without_training(gambler):
    obs = np.ones(1, np.float32)
    beliefs = gambler.beliefs(obs)
    np.testing.assert_allclose(beliefs.mean, [1, 1.5], atol=0.5)
    np.testing.assert_allclose(beliefs.aleatoric, [0, 3.5], atol=0.6)
    assert gambler.predict(obs)[0] == 4
    assert gambler.predict(obs, risk_aversion=0.0)[0] == 4
    assert gambler.predict(obs, risk_aversion=1.0)[0] == 3
    assert gambler.predict(obs, risk="mean-sd:1.0")[0] == 3
    assert gambler.predict(obs, risk="mean")[0] == 4
    batch, _ = gambler.predict(np.ones((3, 1), np.float32), risk_aversion=1.0)
    np.testing.assert_array_equal(batch, [3, 3, 3])
    assert gambler.evaluate(50, env=TwoArms(), risk_aversion=1.0).mean == 1
    assert np.std(gambler.evaluate(50, env=TwoArms()).returns) > 2


def test_exploring_predictions_differ_from_call_to_call():
    model = surefoot.DQN("CartPole-v1", **QUICK)
    batch = np.zeros((64, 4), np.float32)
    one, other = (model.predict(batch, deterministic=False)[0] for _ in range(2))
    assert not np.array_equal(one, other)
    assert set(one) == {0, 1}
    np.testing.assert_array_equal(model.predict(batch)[0], model.predict(batch)[0])


def test_every_agent_accepts_the_mean_as_its_attitude_to_risk(trained):
    obs = np.array([0.01, 0.0, -0.02, 0.1], np.float32)
    best = int(np.argmax(trained.beliefs(obs).mean))
    assert trained.predict(obs, risk="mean")[0] == best
    assert trained.predict(obs, risk_aversion=0.0)[0] == best
    assert trained.evaluate(1, risk="mean", max_episode_steps=5).lengths[0] <= 5


@pytest.mark.parametrize("settings", [{"explorer": "thompson-episode"}, {"explorer": "thompson"}])
def test_one_draw_lasts_an_episode_if_the_explorer_says_so(settings):
    """Untrained, both actions are alike: only the draw decides, and it changes with the episode."""
    model = surefoot.UADQN("CartPole-v1", exploration=1e6, **settings, **QUICK)
    obs = np.full((64, 4), 0.1, np.float32)
    actions, state = [], None
    for time in range(4):
        chosen, state = model.predict(obs, state, np.full(64, time == 0), deterministic=False)
        actions.append(chosen)
    assert set(actions[0]) == {0, 1}
    lasts = settings["explorer"] == "thompson-episode"
    assert all(np.array_equal(actions[0], each) for each in actions[1:]) == lasts
    other, _ = model.predict(obs, state, np.ones(64, bool), deterministic=False)
    assert not np.array_equal(other, actions[0])


def test_a_head_is_followed_for_an_episode():
    model = surefoot.BootstrappedDQN("CartPole-v1", initial_epsilon=0.0, final_epsilon=0.0, **QUICK)
    model._live_run._saved_learner = SavedLearner(model._live_run.learner, 10**6)  # Past random warm-up.
    obs = np.tile(np.array([0.5, -1.0, 0.1, 1.0], np.float32), (64, 1))
    first, state = model.predict(obs, deterministic=False)
    again, state = model.predict(obs, state, np.zeros(64, bool), deterministic=False)
    np.testing.assert_array_equal(first, again)
    half = np.arange(64) < 32
    mixed, _ = model.predict(obs, state, half, deterministic=False)
    np.testing.assert_array_equal(mixed[~half], first[~half])
