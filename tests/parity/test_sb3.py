"""The evaluation of Stable-Baselines3 accepts Surefoot's models without an adapter."""

import gymnasium
import numpy as np
import pytest

import surefoot
from surefoot.model import MODELS

SMALL = {"network": "mlp:16", "batch_size": 8, "learning_starts": 100, "target_period": 50}


@pytest.fixture(scope="module")
def evaluate_policy():
    pytest.importorskip("torch")
    return pytest.importorskip("stable_baselines3.common.evaluation").evaluate_policy


@pytest.mark.parametrize("name", list(MODELS))
def test_evaluate_policy_accepts_every_kind_of_model(evaluate_policy, name):
    from stable_baselines3.common.monitor import Monitor

    model = MODELS[name]("CartPole-v1", **SMALL).learn(200, progress=False)
    mean, sd = evaluate_policy(model, Monitor(gymnasium.make("CartPole-v1")), n_eval_episodes=5)
    assert 8 <= mean <= 500
    assert sd >= 0


@pytest.mark.parametrize("env", ["FrozenLake-v1", "CartPole-v1"])
def test_evaluate_policy_accepts_a_vector_environment_and_a_batch_has_the_actions_of_its_observations(
    evaluate_policy, env
):
    """A batch of observations has the same actions as its observations one by one."""
    from stable_baselines3.common.env_util import make_vec_env

    model = surefoot.QRDQN(env, **SMALL).learn(150, progress=False)
    vector = make_vec_env(env, n_envs=3, seed=0)
    returns, lengths = evaluate_policy(model, vector, n_eval_episodes=6, return_episode_rewards=True)
    assert len(returns) == len(lengths) == 6
    observations = vector.reset()
    of_batch, _ = model.predict(observations)
    one_by_one = [model.predict(each)[0] for each in observations]
    np.testing.assert_array_equal(of_batch, one_by_one)


def test_evaluate_policy_accepts_a_policy_that_hands_over(evaluate_policy):
    """It passes on the state, so that control stays where it is between the thresholds."""
    from stable_baselines3.common.env_util import make_vec_env

    model = surefoot.BootstrappedDQN("CartPole-v1", **SMALL).learn(150, progress=False)
    cautious = surefoot.Cautious(model, lambda obs: int(obs[2] > 0), budget=0.3).fit(10)
    vector = make_vec_env("CartPole-v1", n_envs=3, seed=0)
    returns, _ = evaluate_policy(cautious, vector, n_eval_episodes=6, return_episode_rewards=True)
    assert len(returns) == 6
    assert 0 < cautious.hand_overs <= cautious.handed_over_steps < cautious.steps
