"""Agents: what sets each apart, and what all have in common."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot.agents import AGENTS, bootstrapped, qrdqn, uadqn
from surefoot.architectures import minatar_architecture, mlp_architecture
from surefoot.errors import UserError
from surefoot.estimators import aleatoric_variance, epistemic_variance
from surefoot.types import Transition
from tests.small_models import jitted

KEY = jax.random.key(0)
ARCHITECTURE = mlp_architecture(3, (8,))
OBS = jnp.array([0.5, -1.0, 2.0])


def batch_of(size, reward=0.0, terminated=True):
    obs = jax.random.normal(KEY, (size, 3))
    return Transition(
        obs, jnp.arange(size) % 2, jnp.full(size, reward), jnp.full(size, terminated), obs[::-1]
    )


@cache
def compiled(name, architecture=ARCHITECTURE, actions=2, **settings):
    """The same agent for equal arguments."""
    kind = AGENTS[name]
    return jitted(kind.make(kind.settings(**settings), architecture, actions, None))


def uadqn_with(**settings):
    return compiled("uadqn", **settings)


@pytest.fixture(scope="module", params=list(AGENTS))
def made(request):
    return request.param, compiled(request.param, learning_rate=1e-2)


def test_each_gives_the_beliefs_it_can_and_none_else(made):
    name, agent = made
    beliefs = agent.beliefs(agent.init(KEY).params, OBS, KEY)
    assert beliefs.mean.shape == (2,)
    given = {field for field in beliefs._fields if getattr(beliefs, field) is not None}
    assert (
        given
        == {
            "dqn": {"mean"},
            "qrdqn": {"mean", "aleatoric_variance", "quantiles"},
            "bootstrapped": {"mean", "epistemic_variance", "members"},
            "uadqn": {"mean", "epistemic_variance", "aleatoric_variance", "quantiles", "members"},
        }[name]
    )


def test_updates_move_values_towards_the_rewards(made):
    _, agent = made
    learner = agent.init(KEY)
    batch = batch_of(16, reward=5.0)
    for _ in range(300):
        learner = agent.update(learner, batch, jnp.asarray(1e6), KEY)
    found = [agent.beliefs(learner.params, obs, KEY).mean[i % 2] for i, obs in enumerate(batch.obs)]
    np.testing.assert_allclose(found, 5, atol=0.5)


def test_targets_come_from_the_target_network_until_it_is_renewed(made):
    """Where nothing ends, what a batch teaches depends on the target network."""
    _, agent = made
    learner = agent.init(KEY)
    shifted = learner._replace(target=jax.tree.map(lambda leaf: leaf + 1.0, learner.target))
    batch = batch_of(4, terminated=False)
    one, other = (agent.update(each, batch, jnp.asarray(10.0), KEY).params for each in (learner, shifted))
    assert any(
        not np.array_equal(a, b) for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    )
    ended = batch_of(4, terminated=True)
    one, other = (agent.update(each, ended, jnp.asarray(10.0), KEY).params for each in (learner, shifted))
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_renewing_the_target_copies_the_networks_that_targets_come_from(made):
    name, agent = made
    learner = agent.init(KEY)
    moved = learner._replace(params=jax.tree.map(lambda leaf: leaf + 1.0, learner.params))
    renewed = agent.renew_target(moved)
    source = moved.params.value if name == "uadqn" else moved.params
    for a, b in zip(jax.tree.leaves(renewed.target), jax.tree.leaves(source), strict=True):
        np.testing.assert_array_equal(a, b)


def test_target_action_is_risk_neutral_whatever_the_attitude():
    batch = batch_of(8, terminated=False)
    found = []
    for each in ({}, {"risk": "mean-sd:5"}, {"aleatoric": "biased"}):
        agent = uadqn_with(learning_rate=1e-2, **each)
        found.append(agent.update(agent.init(KEY), batch, jnp.asarray(10.0), KEY).params)
    for other in found[1:]:
        for a, b in zip(jax.tree.leaves(found[0]), jax.tree.leaves(other), strict=True):
            np.testing.assert_array_equal(a, b)


def test_uadqn_reads_both_uncertainties_off_its_auxiliary_networks():
    agent = uadqn_with()
    params = agent.init(KEY).params
    beliefs = agent.beliefs(params, OBS, KEY)
    y_a, y_b = (each(OBS) for each in params.auxiliary)
    np.testing.assert_allclose(beliefs.epistemic_variance, epistemic_variance(y_a, y_b), rtol=1e-4)
    np.testing.assert_allclose(beliefs.aleatoric_variance, aleatoric_variance(y_a, y_b), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(beliefs.mean, params.value(OBS).mean(axis=-1), rtol=1e-5)


def test_variant_1_reads_the_spread_of_the_value_networks_quantiles():
    agent = uadqn_with(aleatoric="biased")
    params = agent.init(KEY).params
    found = agent.beliefs(params, OBS, KEY).aleatoric
    np.testing.assert_allclose(found, params.value(OBS).std(axis=-1, ddof=1), rtol=1e-4)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_released_centring_lets_differences_between_actions_leak_in(count):
    """Actions whose quantiles have no spread but far-apart means look risky to it, and not to eq. 7."""
    samples = jnp.broadcast_to(jnp.array([[0.0], [10.0]]), (count, 2, 4))
    np.testing.assert_allclose(uadqn.released(samples[0], samples), [25, 25], rtol=1e-5)
    np.testing.assert_allclose(uadqn.unbiased(samples[0], samples), [0, 0], atol=1e-5)


def test_released_centring_of_two_networks_by_hand():
    y = np.random.default_rng(0).normal(size=(2, 3, 4))
    centred = y - y.mean(axis=(1, 2), keepdims=True)
    truth = (centred[0] * centred[1]).mean(axis=-1)
    found = uadqn.released(jnp.asarray(y[0], jnp.float32), jnp.asarray(y, jnp.float32))
    np.testing.assert_allclose(found, truth, rtol=1e-4, atol=1e-6)


def test_auxiliary_networks_may_be_more_than_two():
    agent = uadqn_with(auxiliary_networks=4)
    learner = agent.init(KEY)
    assert len(learner.params.auxiliary) == len(learner.prior) == 4
    moved = agent.update(learner, batch_of(4), jnp.asarray(10.0), KEY)
    assert np.all(np.isfinite(agent.beliefs(moved.params, OBS, KEY).aleatoric_variance))


def test_anchors_hold_auxiliary_networks_back_the_more_the_fewer_the_data():
    agent = uadqn_with(learning_rate=1e-2)
    distances = []
    for count in (1.0, 1e6):
        learner = agent.init(KEY)
        for _ in range(200):
            learner = agent.update(learner, batch_of(16, reward=20.0), jnp.asarray(count), KEY)
        gaps = jax.tree.map(jnp.subtract, learner.params.auxiliary[0], learner.prior[0].network)
        distances.append(sum(jnp.sum(gap**2) for gap in jax.tree.leaves(gaps)))
    assert distances[0] < 0.7 * distances[1]


def test_heads_of_bootstrapped_dqn_start_apart_and_learn_the_same_data():
    agent = compiled("bootstrapped", heads=5, learning_rate=1e-2)
    learner = agent.init(KEY)
    assert agent.beliefs(learner.params, OBS, KEY).members.shape == (5, 2)
    assert np.all(agent.beliefs(learner.params, OBS, KEY).epistemic > 0.05)
    batch = batch_of(16, reward=3.0)
    for _ in range(400):
        learner = agent.update(learner, batch, jnp.asarray(10.0), KEY)
    members = np.asarray(agent.beliefs(learner.params, batch.obs[0], KEY).members)
    np.testing.assert_allclose(members[:, 0], 3, atol=0.5)


@pytest.mark.parametrize("name", list(AGENTS))
def test_every_agent_takes_images_through_the_minatar_network(name):
    agent = compiled(name, minatar_architecture((10, 10, 4)), 6)
    learner = agent.init(KEY)
    image = jax.random.bernoulli(KEY, 0.1, (10, 10, 4))
    assert agent.beliefs(learner.params, image, KEY).mean.shape == (6,)
    batch = Transition(
        jnp.stack([image] * 2), jnp.arange(2), jnp.ones(2), jnp.zeros(2, bool), jnp.stack([image] * 2)
    )
    agent.update(learner, batch, jnp.asarray(10.0), KEY)


def test_bootstrapped_heads_share_the_convolution_on_minatar():
    network = minatar_architecture((10, 10, 4)).heads(10, (6,), gain=1.0)(KEY)
    assert network.convolution.weight.shape == (16, 36)
    assert network.hidden.weight.shape == (1280, 1024)
    assert network(jnp.zeros((10, 10, 4), bool)).shape == (10, 6)


@pytest.mark.parametrize(
    ("config", "wrong", "message"),
    [
        (qrdqn.Config, {"discount": 1.5}, "discount: got 1.5, accepted: numbers from 0 to 1"),
        (qrdqn.Config, {"quantiles": 1}, "quantiles: got 1, accepted: numbers from 2"),
        (uadqn.Config, {"auxiliary_networks": 1}, "auxiliary_networks: got 1, accepted: numbers from 2"),
        (uadqn.Config, {"exploration": -1.0}, "exploration: got -1.0, accepted: numbers from 0"),
        (uadqn.Config, {"learning_rate": 0.0}, "learning_rate: got 0.0, accepted: numbers above 0"),
        (bootstrapped.Config, {"heads": 1}, "heads: got 1, accepted: numbers from 2"),
        (
            bootstrapped.Config,
            {"final_epsilon": 2.0},
            "final_epsilon: got 2.0, accepted: numbers from 0 to 1",
        ),
    ],
)
def test_impossible_settings_are_refused(config, wrong, message):
    with pytest.raises(UserError, match=message):
        config(**wrong)
