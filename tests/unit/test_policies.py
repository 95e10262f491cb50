"""Policies on beliefs made up for the purpose."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot import policies
from surefoot.types import Beliefs

KEYS = jax.random.split(jax.random.key(0), 20_000)


def chosen(policy, beliefs, step=0, episode_keys=None):
    """Actions over many step keys, and the same episode key unless told otherwise."""
    episode_keys = KEYS[jnp.zeros(len(KEYS), int)] if episode_keys is None else episode_keys
    return np.asarray(jax.vmap(lambda key, episode: policy(beliefs, key, episode, step))(KEYS, episode_keys))


def test_greedy_takes_the_highest_mean():
    assert np.all(chosen(policies.greedy, Beliefs(mean=jnp.array([1.0, 3.0, 2.0]))) == 1)


def test_schedule_falls_in_a_line_and_stays():
    schedule = policies.linear(1.0, 0.2, 100)
    np.testing.assert_allclose([schedule(step) for step in (0, 50, 100, 1000)], [1, 0.6, 0.2, 0.2], rtol=1e-6)
    late = policies.after_random_start(schedule, 60)
    np.testing.assert_allclose([late(step) for step in (0, 59, 60, 100)], [1, 1, 0.52, 0.2], rtol=1e-6)


def test_epsilon_greedy_strays_as_often_as_it_says():
    policy = policies.epsilon_greedy(policies.linear(0.3, 0.3, 1))
    actions = chosen(policy, Beliefs(mean=jnp.array([0.0, 0.0, 1.0])))
    frequencies = np.bincount(actions, minlength=3) / len(actions)
    np.testing.assert_allclose(frequencies, [0.1, 0.1, 0.8], atol=4 * np.sqrt(0.8 * 0.2 / len(actions)))


def test_risk_aversion_trades_mean_for_certainty():
    beliefs = Beliefs(mean=jnp.array([4.86, 4.0]), aleatoric_variance=jnp.array([2.8**2, 0.0]))
    assert np.all(chosen(policies.risk_averse(0.0), beliefs) == 0)
    assert np.all(chosen(policies.risk_averse(0.5), beliefs) == 1)
    assert np.all(chosen(policies.thompson(1.0, 0.5), beliefs._replace(epistemic_variance=jnp.zeros(2))) == 1)


def test_a_negative_variance_counts_as_none():
    beliefs = Beliefs(mean=jnp.array([1.0, 1.1]), aleatoric_variance=jnp.array([-5.0, -5.0]))
    assert np.all(chosen(policies.risk_averse(2.0), beliefs) == 1)
    np.testing.assert_array_equal(beliefs.aleatoric, [0, 0])


@pytest.mark.parametrize("exploration", [0.04, 1.0, 4.0])
def test_thompson_samples_have_variance_beta_times_the_epistemic_one(exploration):
    """Of two actions the second wins with probability Phi(difference / sd of the difference)."""
    from scipy import stats

    beliefs = Beliefs(mean=jnp.array([0.0, 0.5]), epistemic_variance=jnp.array([1.0, 2.0]))
    found = chosen(policies.thompson(exploration), beliefs).mean()
    truth = stats.norm.cdf(0.5 / np.sqrt(exploration * 3))
    assert abs(found - truth) < 4 * np.sqrt(truth * (1 - truth) / len(KEYS)) + 1e-9


def test_a_thompson_sample_can_last_an_episode():
    beliefs = Beliefs(mean=jnp.zeros(3), epistemic_variance=jnp.ones(3))
    lasting = policies.thompson(1.0, noise=policies.of_episode)
    assert len(set(chosen(lasting, beliefs))) == 1
    assert len(set(chosen(lasting, beliefs, episode_keys=KEYS))) == 3
    assert len(set(chosen(policies.thompson(1.0), beliefs))) == 3


def test_one_member_acts_for_a_whole_episode_and_any_may():
    beliefs = Beliefs(mean=jnp.zeros(4), members=jnp.eye(4))
    assert len(set(chosen(policies.one_member, beliefs))) == 1
    counts = np.bincount(chosen(policies.one_member, beliefs, episode_keys=KEYS), minlength=4)
    assert np.all(np.abs(counts / len(KEYS) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / len(KEYS)))


def test_votes_count_heads_not_values():
    members = jnp.array([[0.0, 100.0], [2.0, 1.0], [2.0, 1.0]])
    beliefs = Beliefs(mean=members.mean(axis=0), members=members)
    assert np.all(chosen(policies.vote, beliefs) == 0)
    assert np.all(chosen(policies.greedy, beliefs) == 1)


@pytest.mark.parametrize(
    "policy", [policies.thompson(1.0), policies.risk_averse(1.0), policies.one_member, policies.vote]
)
def test_what_an_agent_cannot_give_is_named(policy):
    with pytest.raises(ValueError, match="this agent has no"):
        policy(Beliefs(mean=jnp.zeros(2)), KEYS[0], KEYS[1], 0)
