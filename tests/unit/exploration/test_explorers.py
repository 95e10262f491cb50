"""Explorers: epsilon-greedy, Thompson sampling, bounds, information, and heads of Bootstrapped DQN."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from surefoot.agents.bootstrapped import majority_vote
from surefoot.errors import UserError
from surefoot.exploration import EXPLORERS, epsilon_greedy, ids
from surefoot.exploration.thompson import follow_one_member
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
    assert len(set(chosen(follow_one_member, beliefs))) == 1
    counts = np.bincount(chosen(follow_one_member, beliefs, episode_keys=KEYS), minlength=4)
    assert np.all(np.abs(counts / len(KEYS) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / len(KEYS)))


def test_votes_count_heads_not_values():
    members = jnp.array([[0.0, 100.0], [2.0, 1.0], [2.0, 1.0]])
    beliefs = Beliefs(mean=members.mean(axis=0), members=members)
    assert np.all(chosen(majority_vote, beliefs) == 0)
    assert np.all(chosen(greedy(), beliefs) == 1)


def test_thompson_sampling_needs_epistemic_uncertainty():
    with pytest.raises(UserError, match="without epistemic uncertainty, accepted: epsilon-greedy"):
        explorer("thompson")(Beliefs(mean=jnp.zeros(2)), KEYS[0], KEYS[1], 0)


def test_an_upper_confidence_bound_adds_epistemic_standard_deviations():
    beliefs = Beliefs(mean=jnp.array([1.0, 0.0]), epistemic_variance=jnp.array([0.0, 0.25]))
    assert np.all(chosen(explorer("ucb", optimism=1.9), beliefs) == 0)
    assert np.all(chosen(explorer("ucb", optimism=2.1), beliefs) == 1)


def test_information_directed_sampling_equals_a_case_computed_by_hand():
    """Means 1 and 0.9, epistemic sd 0.2 and 1, aleatoric variances 1 and 4 (mean 2.5), lambda 0.1.

    Upper bounds 1.02 and 1.0, so that regrets are 1.02 - 0.98 = 0.04 and 1.02 - 0.8 = 0.22; relative noise
    0.4 and 1.6, so that gains are log(1 + 0.04 / 0.4) and log(1 + 1 / 1.6); ratios 0.0168 and 0.0997.
    """
    values, epistemic = jnp.array([1.0, 0.9]), jnp.array([0.2, 1.0])
    costs = ids.regret(values, epistemic, 0.1)
    np.testing.assert_allclose(costs, [0.04, 0.22], rtol=1e-5)
    noise = ids.relative_noise(jnp.array([1.0, 4.0]), 0.25)
    np.testing.assert_allclose(noise, [0.4, 1.6], rtol=1e-4)
    gains = ids.information_gain(epistemic, noise)
    np.testing.assert_allclose(gains, np.log([1.1, 1.625]) + 1e-5, rtol=1e-4)
    np.testing.assert_allclose(costs**2 / gains, [0.01679, 0.09968], rtol=1e-3)
    beliefs = Beliefs(mean=values, epistemic_variance=epistemic**2, aleatoric_variance=jnp.array([1.0, 4.0]))
    assert np.all(chosen(explorer("ids"), beliefs) == 0)


def test_the_noise_of_an_action_has_a_floor_and_negative_estimates_count_as_none():
    noise = ids.relative_noise(jnp.array([-1.0, 0.0, 3.0]), 0.25)
    np.testing.assert_allclose(noise, [0.25, 0.25, 3.0], rtol=1e-4)


def test_information_directed_sampling_prefers_the_informative_arm_where_ucb_does_not():
    """The noisy arm is a little more uncertain, but a look at the other teaches far more."""
    beliefs = Beliefs(
        mean=jnp.zeros(2),
        epistemic_variance=jnp.array([1.0, 0.81]),
        aleatoric_variance=jnp.array([9.0, 0.01]),
    )
    assert np.all(chosen(explorer("ucb"), beliefs) == 0)
    assert np.all(chosen(explorer("ids"), beliefs) == 1)


def test_the_randomised_one_draws_from_the_best_mixture():
    """Regrets 1 and 2, gains 0.1 and 1: (1 + q)^2 / (0.1 + 0.9 q) is least at q = 7 / 9."""
    costs, gains = jnp.array([1.0, 2.0]), jnp.array([0.1, 1.0])
    assert int(ids.best_ratio(costs, gains)) == 1
    found = np.asarray(jax.vmap(lambda key: ids.sample_best_mixture(costs, gains, key))(KEYS))
    assert abs(found.mean() - 7 / 9) < 4 * np.sqrt(7 / 9 * 2 / 9 / len(KEYS))


@pytest.mark.parametrize("seed", range(5))
def test_no_mixture_of_two_actions_beats_the_best_one(seed):
    rng = np.random.default_rng(seed)
    costs, gains = rng.uniform(0.1, 2, 4), rng.uniform(0.01, 1, 4)
    actions = np.asarray(
        jax.vmap(lambda key: ids.sample_best_mixture(jnp.asarray(costs), jnp.asarray(gains), key))(KEYS)
    )
    shares = np.bincount(actions, minlength=4) / len(KEYS)
    found = (shares @ costs) ** 2 / (shares @ gains)
    q = np.linspace(0, 1, 201)
    grid = [
        ((1 - q) * costs[i] + q * costs[j]) ** 2 / ((1 - q) * gains[i] + q * gains[j])
        for i in range(4)
        for j in range(4)
    ]
    assert found < np.min(grid) * 1.02


def test_a_posterior_draw_is_followed_for_an_episode():
    kind = EXPLORERS["thompson-draw"]
    assert kind.draw_key(KEYS[0], KEYS[1]) == KEYS[1]
    beliefs = Beliefs(mean=jnp.zeros(4), members=jnp.eye(4))
    assert len(set(chosen(explorer("thompson-draw"), beliefs))) == 1
    assert len(set(chosen(explorer("thompson-draw"), beliefs, episode_keys=KEYS))) == 4


@pytest.mark.parametrize("name", ["ids", "ids-randomised"])
def test_information_directed_sampling_needs_both_uncertainties(name):
    with pytest.raises(UserError, match="without aleatoric uncertainty, accepted: ucb"):
        explorer(name)(Beliefs(jnp.zeros(2), jnp.ones(2)), KEYS[0], KEYS[1], 0)
