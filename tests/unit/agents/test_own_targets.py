"""Targets of their own for auxiliary networks, on a chain of two states where everything is exact.

State 0 leads to state 1 without a reward; of state 1 there are no data, and its target stays what it was at
the beginning: pure ignorance. Quantile regression at state 0 finds the quantiles of it, sorted.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from surefoot import estimators
from surefoot.agents import AGENTS
from surefoot.architectures import mlp_architecture
from surefoot.posteriors import POSTERIORS
from surefoot.types import Transition

KEY = jax.random.key(1)
STATES = jnp.eye(2)
QUANTILES, NETWORKS = 20, 3


def newest(params):
    """The auxiliary networks with own targets, where there are such, otherwise all."""
    last = params.auxiliary[-1]
    return last if isinstance(last, tuple) else params.auxiliary


def learned(**settings):
    """Outputs of the auxiliary networks, `[network, state, quantile]`, beliefs, and targets at state 1."""
    kind = AGENTS["uadqn"]
    config = kind.settings(
        **{
            "quantiles": QUANTILES,
            "auxiliary_networks": NETWORKS,
            "levels": "midpoints",
            "discount": 1.0,
            "learning_rate": 0.01,
            "kappa": 0.0,
            # Next to no pull: what is learned is what the targets say.
            "noise_scale": 1e-3,
            **settings,
        }
    )
    agent = kind.make(config, mlp_architecture(2, ()), 1, None)
    batch = Transition(
        obs=STATES[:1],
        action=jnp.zeros(1, jnp.int32),
        reward=jnp.zeros(1),
        terminated=jnp.zeros(1, bool),
        next_obs=STATES[1:],
    )

    def step(i, learner):
        return agent.update(learner, batch, jnp.asarray(100.0), jax.random.fold_in(KEY, i))

    learner = agent.renew_target(agent.init(KEY))
    learner = jax.jit(lambda learner: jax.lax.fori_loop(0, 2_000, step, learner))(learner)
    outputs = np.array([jax.vmap(network)(STATES)[:, 0] for network in newest(learner.params)], float)
    beliefs = [agent.beliefs(learner.params, state, KEY) for state in STATES]
    before = np.array(
        [jax.vmap(network)(STATES[1:])[0, 0] for network in newest(learner.target)]
        if settings.get("targets", "shared") != "shared"
        else [jax.vmap(learner.target)(STATES[1:])[0, 0]],
        float,
    )
    return outputs, beliefs, before


def test_with_own_targets_what_is_not_known_of_a_later_state_reaches_an_earlier_one():
    outputs, beliefs, ahead = learned(targets="own", aleatoric="biased")
    np.testing.assert_allclose(outputs[:, 0], np.sort(ahead, axis=-1), atol=0.05)
    np.testing.assert_allclose(outputs[:, 0].mean(axis=-1), ahead.mean(axis=-1), atol=0.02)
    exact = ahead.mean(axis=-1).var(ddof=1)
    assert float(beliefs[0].epistemic_variance[0]) == pytest.approx(exact, rel=0.1)


def test_with_shared_targets_it_does_not():
    outputs, beliefs, ahead = learned()
    np.testing.assert_allclose(outputs[:, 0], np.sort(ahead, axis=-1).repeat(NETWORKS, axis=0), atol=0.05)
    assert float(beliefs[0].epistemic_variance[0]) < 0.05 * ahead.var()


def test_the_covariance_of_networks_with_own_targets_takes_ignorance_for_noise():
    """Proposition 2.3 does not survive the bootstrap by itself.

    At state 1 the outputs of two networks are independent, so that their covariance over quantiles is about
    zero, as it should be. At state 0 quantile regression has sorted both, and what is sorted is alike: the
    covariance is nearly the product of their standard deviations.
    """
    outputs, _, ahead = learned(targets="own", aleatoric="biased")
    pairs = [(0, 1), (0, 2), (1, 2)]

    def mean_covariance(values):
        return np.mean([estimators.aleatoric_variance(values[a], values[b]) for a, b in pairs])

    spread = ahead.std(axis=-1)
    products = np.mean([spread[a] * spread[b] for a, b in pairs])
    assert mean_covariance(np.sort(ahead, axis=-1)) > 0.85 * products
    assert mean_covariance(outputs[:, 0]) > 0.8 * products
    assert abs(mean_covariance(ahead)) < 0.5 * products


def test_the_aleatoric_part_is_read_off_networks_with_shared_targets():
    _, beliefs, ahead = learned(targets="own")
    _, alone, _ = learned(targets="own", aleatoric="biased")
    _, shared, _ = learned()
    exact = ahead.mean(axis=-1).var(ddof=1)
    assert float(beliefs[0].epistemic_variance[0]) == pytest.approx(exact, rel=0.2)
    # The value network is the same in all three, and so is what networks with shared targets learn of it.
    assert float(beliefs[0].aleatoric_variance[0]) == pytest.approx(
        float(shared[0].aleatoric_variance[0]), rel=0.05
    )
    assert float(alone[0].aleatoric_variance[0]) == pytest.approx(
        float(shared[0].quantiles[0].var(ddof=1)), rel=0.1
    )


@pytest.mark.parametrize(
    "posterior",
    [pytest.param(name, marks=() if name == "mc-dropout" else pytest.mark.slow) for name in POSTERIORS],
)
def test_own_targets_leave_networks_with_shared_targets_alone(posterior):
    """Also where all draws of a posterior are of one network: other own targets, the same shared networks."""
    kind = AGENTS["uadqn"]
    config = kind.settings(quantiles=2, targets="own", posterior=posterior)
    agent = kind.make(config, mlp_architecture(2, (3,)), 1, None)
    batch = Transition(STATES[:1], jnp.zeros(1, jnp.int32), jnp.zeros(1), jnp.zeros(1, bool), STATES[1:])
    learner = agent.init(KEY)
    shared, own = learner.target.auxiliary
    raised = jax.tree.map(lambda leaf: leaf + 5 if eqx.is_inexact_array(leaf) else leaf, own)
    other = learner._replace(target=learner.target._replace(auxiliary=(shared, raised)))
    update = eqx.filter_jit(agent.update)
    updated = [update(each, batch, 100.0, KEY).params.auxiliary for each in (learner, other)]
    shared, own = zip(*updated, strict=True)
    assert eqx.tree_equal(*shared)
    assert not eqx.tree_equal(*own)


def test_a_greedy_network_chooses_its_own_next_action():
    """Two actions in state 1: each network bootstraps from the better one by its own outputs."""
    kind = AGENTS["uadqn"]
    settings = {"quantiles": 4, "levels": "midpoints", "discount": 1.0, "noise_scale": 1e-3}
    batch = Transition(STATES[:1], jnp.zeros(1, jnp.int32), jnp.zeros(1), jnp.zeros(1, bool), STATES[1:])
    for targets in ("own", "own-greedy"):
        config = kind.settings(**settings, targets=targets, aleatoric="biased", learning_rate=0.01)
        agent = kind.make(config, mlp_architecture(2, ()), 2, None)
        learner = agent.renew_target(agent.init(KEY))
        learner = jax.jit(
            lambda learner, agent=agent: jax.lax.fori_loop(
                0, 2_000, lambda _, each: agent.update(each, batch, jnp.asarray(100.0), KEY), learner
            )
        )(learner)
        value_choice = int(np.argmax(learner.target.value(STATES[1]).mean(axis=-1)))
        for network, target in zip(learner.params.auxiliary, learner.target.auxiliary, strict=True):
            ahead = np.asarray(target(STATES[1]).mean(axis=-1))
            expected = ahead.max() if targets == "own-greedy" else ahead[value_choice]
            assert float(network(STATES[0])[0].mean()) == pytest.approx(expected, abs=0.03)
