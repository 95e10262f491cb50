"""A user's mistakes: each is one line that says what is accepted."""

import numpy as np
import pytest

import surefoot
from surefoot.errors import UserError
from tests.small_models import CLIFF


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: surefoot.DQN("Pendulum-v1"), "env: Pendulum-v1 has actions Box.*accepted: Discrete"),
        (
            lambda: surefoot.DQN("Blackjack-v1"),
            "env: Blackjack-v1 has observations Tuple, accepted: Box or Discrete",
        ),
        (lambda: surefoot.DQN("CartPole-v1", seed=-1), "seed: got -1"),
        (lambda: surefoot.DQN("CartPole-v1", risk_aversion=1), "risk: got mean-sd:1 for an agent that"),
        (lambda: surefoot.DQN("CartPole-v1", preset="x"), "preset: got x"),
        (lambda: surefoot.UADQN("CartPole-v1", risk="x"), "risk: got x"),
        (lambda: surefoot.DQN(CLIFF).learn(0), "total_timesteps: got 0, accepted: whole numbers from 1"),
        (lambda: surefoot.DQN(CLIFF).learn(5, eval_every=0), "eval_every: got 0"),
        (
            lambda: surefoot.DQN(CLIFF).predict(np.zeros(3)),
            r"observation: got shape \(3,\), accepted: \(11,\)",
        ),
        (
            lambda: surefoot.DQN("FrozenLake-v1").predict(0.5),
            "observation: got dtype float64, accepted: int64",
        ),
        (
            lambda: surefoot.DQN(CLIFF).predict(np.zeros(11), risk_aversion=1.0),
            "without aleatoric uncertainty",
        ),
        (lambda: surefoot.UADQN(CLIFF).predict(np.zeros(11), risk_aversion=-1.0), "risk_aversion: got -1"),
        (
            lambda: surefoot.UADQN(CLIFF).predict(np.zeros(11), None, None, False, risk="mean"),
            "risk: got mean with deterministic=False",
        ),
        (lambda: surefoot.UADQN(CLIFF).evaluate(0), "episodes: got 0"),
        (lambda: surefoot.DQN(5), r"env: got 5 \(int\), accepted: a Gymnasium id"),
        (lambda: surefoot.DQN(None), "env: got None"),
        (lambda: surefoot.DQN(CLIFF, seed="3"), "seed: got '3', accepted: whole numbers"),
        (
            lambda: surefoot.DQN(CLIFF, batch_size=4.5),
            "batch_size: got 4.5, accepted: whole numbers",
        ),
        (lambda: surefoot.DQN(CLIFF, seed=2**32), "seed: got 4294967296, accepted: whole numbers from 0 to"),
        (lambda: surefoot.UADQN(CLIFF, levels="x"), "levels: got x, accepted: paper, midpoints"),
        (lambda: surefoot.UADQN(CLIFF, prior_scale="x"), "prior_scale: got x, accepted: weights, all"),
        (lambda: surefoot.UADQN(CLIFF, aleatoric="x"), "aleatoric: got x, accepted: unbiased, biased"),
        (lambda: surefoot.UADQN(CLIFF, thompson="x"), "thompson: got x, accepted: step, episode"),
        (lambda: surefoot.UADQN(CLIFF, posterior="x"), "posterior: got x, accepted: anchored, mc-dropout"),
        (lambda: surefoot.UADQN(CLIFF, explorer="thomson"), "did you mean thompson"),
        (
            lambda: surefoot.UADQN(CLIFF, explorer="no.such:KIND"),
            "explorer: got no.such:KIND .ModuleNotFound",
        ),
        (lambda: surefoot.UADQN(CLIFF, posterior="math:pi"), "which is a float, accepted: PosteriorKind"),
        (lambda: surefoot.UADQN(CLIFF, dropout_rate=0.5), "dropout_rate: no setting of uadqn"),
        (lambda: surefoot.UADQN(CLIFF, risk="mean", risk_aversion=1.0), "accepted: one of the two"),
        (lambda: surefoot.DQN(CLIFF, learning_rate=float("inf")), "learning_rate: got inf, accepted: finite"),
        (lambda: surefoot.DQN(CLIFF, normalise="yes"), "normalise: got 'yes', accepted: True or False"),
        (lambda: surefoot.DQN(CLIFF, optimiser="sgd"), "optimiser: got sgd, accepted: adam, package.module"),
        (lambda: surefoot.DQN(CLIFF, optimiser=3), "optimiser: got int, accepted: adam"),
        (lambda: surefoot.DQN(CLIFF, network="math:pi"), "network: got math:pi, which is no function"),
        (lambda: surefoot.Model(CLIFF), "agent: not given, accepted: dqn"),
        (lambda: surefoot.DQN(CLIFF, agent="qrdqn"), "agent: got qrdqn, accepted: dqn for DQN"),
        (lambda: surefoot.Model(CLIFF, agent="dqm"), "agent: got dqm, .*did you mean dqn"),
        (lambda: surefoot.DQN(CLIFF).evaluate(1, max_episode_steps=0), "max_episode_steps: got 0"),
        (lambda: surefoot.DQN(CLIFF).evaluate(1, seed=-1), "seed: got -1"),
        (
            lambda: surefoot.DQN(CLIFF).predict(np.zeros(11), "mine", None, False),
            "state: got str of shape",
        ),
        (lambda: surefoot.DQN(CLIFF).learn(100.5), "total_timesteps: got 100.5, accepted: whole numbers"),
    ],
)
def test_a_mistake_is_one_line_that_says_what_is_accepted(make, says):
    with pytest.raises(UserError, match=says) as error:
        make()
    assert "\n" not in str(error.value)
