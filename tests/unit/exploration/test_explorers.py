"""Explorers: epsilon-greedy, Thompson sampling, and the heads of Bootstrapped DQN."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from surefoot.agents.bootstrapped import follow_one_head, majority_vote
from surefoot.errors import UserError
from surefoot.exploration import EXPLORERS, epsilon_greedy
from surefoot.risk import MEAN, greedy, parse_risk
from surefoot.types import Beliefs
from tests.made_up_beliefs import KEYS, chosen


def explorer(name, risk=MEAN, **settings):
    kind = EXPLORERS[name]
    defaults = {"exploration": 1.0, "learning_starts": 0}
    return kind.make(SimpleNamespace(**{**vars(kind.config()), **defaults, **settings}), risk)


def test_epsilon_is_1_until_learning_starts_and_falls_in_a_line():
    schedule = epsilon_greedy.linear(1.0, 0.2, 100)
    np.testing.assert_allclose([schedule(step) for step in (0, 50, 100, 1000)], [1, 0.6, 0.2, 0.2], rtol=1e-6)
    late = epsilon_greedy.epsilon_schedule(
        SimpleNamespace(initial_epsilon=1.0, final_epsilon=0.2, final_epsilon_step=100, learning_starts=60)
    )
    np.testing.assert_allclose([late(step) for step in (0, 59, 60, 100)], [1, 1, 0.52, 0.2], rtol=1e-6)


def test_epsilon_greedy_is_random_as_often_as_it_says():
    policy = explorer("epsilon-greedy", initial_epsilon=0.3, final_epsilon=0.3)
    actions = chosen(policy, Beliefs(mean=jnp.array([0.0, 0.0, 1.0])))
    frequencies = np.bincount(actions, minlength=3) / len(actions)
    np.testing.assert_allclose(frequencies, [0.1, 0.1, 0.8], atol=4 * np.sqrt(0.8 * 0.2 / len(actions)))


@pytest.mark.parametrize("exploration", [0.04, 1.0, 4.0])
def test_thompson_samples_have_variance_beta_times_the_epistemic_one(exploration):
    """Of two actions the second wins with probability Phi(difference / sd of the difference)."""
    beliefs = Beliefs(mean=jnp.array([0.0, 0.5]), epistemic_variance=jnp.array([1.0, 2.0]))
    found = chosen(explorer("thompson", exploration=exploration), beliefs).mean()
    truth = stats.norm.cdf(0.5 / np.sqrt(exploration * 3))
    assert abs(found - truth) < 4 * np.sqrt(truth * (1 - truth) / len(KEYS)) + 1e-9


def test_thompson_samples_are_centred_at_the_risk_measure():
    beliefs = Beliefs(
        mean=jnp.array([4.86, 4.0]),
        aleatoric_variance=jnp.array([2.8**2, 0.0]),
        epistemic_variance=jnp.zeros(2),
    )
    assert np.all(chosen(explorer("thompson"), beliefs) == 0)
    assert np.all(chosen(explorer("thompson", parse_risk("mean-sd:0.5")), beliefs) == 1)


def test_a_thompson_sample_can_last_an_episode():
    beliefs = Beliefs(mean=jnp.zeros(3), epistemic_variance=jnp.ones(3))
    lasting = explorer("thompson-episode")
    assert len(set(chosen(lasting, beliefs))) == 1
    assert len(set(chosen(lasting, beliefs, episode_keys=KEYS))) == 3
    assert len(set(chosen(explorer("thompson"), beliefs))) == 3


def test_one_head_acts_for_a_whole_episode_and_any_may():
    beliefs = Beliefs(mean=jnp.zeros(4), members=jnp.eye(4))
    assert len(set(chosen(follow_one_head, beliefs))) == 1
    counts = np.bincount(chosen(follow_one_head, beliefs, episode_keys=KEYS), minlength=4)
    assert np.all(np.abs(counts / len(KEYS) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / len(KEYS)))


def test_votes_count_heads_not_values():
    members = jnp.array([[0.0, 100.0], [2.0, 1.0], [2.0, 1.0]])
    beliefs = Beliefs(mean=members.mean(axis=0), members=members)
    assert np.all(chosen(majority_vote, beliefs) == 0)
    assert np.all(chosen(greedy(), beliefs) == 1)


def test_thompson_sampling_needs_epistemic_uncertainty():
    with pytest.raises(UserError, match="without epistemic uncertainty, accepted: epsilon-greedy"):
        explorer("thompson")(Beliefs(mean=jnp.zeros(2)), KEYS[0], KEYS[1], 0)
