"""Decision processes as tables: exact returns by hand, and the environment against them."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from surefoot.envs import delayed_bandit, noisy_chain, tabular
from surefoot.errors import UserError

TABLES = {"noisy chain": noisy_chain.table(), "delayed bandit": delayed_bandit.table()}


def test_the_return_of_the_noisy_chain_is_a_sum_of_independent_rewards():
    table = noisy_chain.table(noisy_chain.Config(length=4, bonus=0.2, noise=1.5))
    always_noisy = tabular.exact_returns(table, [noisy_chain.NOISY] * 4)
    left = np.arange(4, 0, -1)
    np.testing.assert_allclose(always_noisy.mean[:, noisy_chain.NOISY], 0.2 * left)
    np.testing.assert_allclose(always_noisy.sd[:, noisy_chain.NOISY], 1.5 * np.sqrt(left))
    np.testing.assert_allclose(always_noisy.sd[:, noisy_chain.CERTAIN], 1.5 * np.sqrt(left - 1))
    assert tabular.best_policy(table) == [noisy_chain.NOISY] * 4


def test_the_noise_of_the_delayed_bandit_is_known_at_its_first_state():
    table = delayed_bandit.table()
    found = tabular.exact_returns(table, tabular.best_policy(table))
    np.testing.assert_allclose(found.mean[0], [1.0, 1.5])
    np.testing.assert_allclose(found.sd[0], [0.0, 2.0])
    discounted = tabular.exact_returns(table, tabular.best_policy(table, 0.9), 0.9)
    np.testing.assert_allclose(discounted.sd[0], [0.0, 2.0 * 0.9**4])


@pytest.mark.parametrize("name", TABLES)
def test_episodes_have_the_moments_of_the_exact_returns(name):
    table, count = TABLES[name], 20_000
    policy = tabular.best_policy(table)
    exact = tabular.exact_returns(table, policy)
    environment = tabular.make(table)

    def episode(key):
        def step(carry, key):
            state, done, total = carry
            found = environment.step(state, jnp.asarray(policy)[state], key)
            return (found.state, done | found.terminated, total + jnp.where(done, 0.0, found.reward)), None

        state, _ = environment.reset(key)
        start = (state, jnp.zeros((), bool), jnp.zeros(()))
        return jax.lax.scan(step, start, jax.random.split(key, len(policy)))[0][2]

    returns = np.asarray(jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(0), count)))
    mean, sd = exact.mean[0, policy[0]], exact.sd[0, policy[0]]
    assert abs(returns.mean() - mean) < 4 * sd / np.sqrt(count)
    assert abs(returns.std() - sd) < 0.03 * sd


@pytest.mark.parametrize("name", ["NoisyChain", "DelayedBandit"])
def test_gymnasium_accepts_them(name):
    check_env(gymnasium.make(f"surefoot/{name}-v0").unwrapped, skip_render_check=True)


@pytest.mark.parametrize(
    ("name", "parameters"), [("NoisyChain", {"length": 0}), ("DelayedBandit", {"noise": -1})]
)
def test_parameters_outside_their_bounds_are_refused(name, parameters):
    with pytest.raises(UserError, match="accepted: "):
        gymnasium.make(f"surefoot/{name}-v0", **parameters)
