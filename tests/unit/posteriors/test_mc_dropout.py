"""MC dropout: masks as draws, the article's weight decay, and exact moments of a linear layer."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import surefoot
from surefoot.errors import UserError
from surefoot.layers import Dense, Dropout, orthogonal
from surefoot.networks import mlp
from surefoot.posteriors import mc_dropout
from surefoot.types import NetworkFactory
from tests.small_models import CLIFF, QUICK

KEY = jax.random.key(0)


NETWORKS = NetworkFactory(
    lambda *, gain, dropout: mlp(3, (50,), (2,), layer=orthogonal(gain), dropout=dropout),
    jnp.ravel,
    jax.ShapeDtypeStruct((3,), float),
    (2,),
)


def posterior_with(draws=2, **settings):
    return mc_dropout.make(mc_dropout.Config(**settings), NETWORKS, draws)


def test_dropout_keeps_the_mean_and_drops_as_often_as_it_says():
    x = jnp.ones(20_000)
    dropped = np.asarray(Dropout(0.25)(x, KEY))
    assert abs(np.mean(dropped == 0) - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 20_000)
    np.testing.assert_allclose(dropped[dropped != 0], 1 / 0.75, rtol=1e-6)
    np.testing.assert_array_equal(Dropout(0.25)(x, None), x)


def test_a_draw_is_one_function_of_all_inputs():
    posterior = posterior_with(draws=3, dropout_rate=0.5)
    params, prior = posterior.init(KEY)
    assert prior is None
    keys = jax.random.split(KEY, 3)
    inputs = jnp.stack([jnp.ones(3), jnp.ones(3), -jnp.ones(3)])
    outputs = posterior.predict(params, inputs, keys)
    assert outputs.shape == (3, 3, 2)
    np.testing.assert_array_equal(outputs[:, 0], outputs[:, 1])
    np.testing.assert_allclose(outputs[1, 2], params(inputs[2], key=keys[1]), rtol=1e-5)
    assert not np.allclose(outputs[0], outputs[1])


def test_masks_of_one_hidden_layer_have_the_moments_of_independent_units():
    """Output = sum of w_i h_i m_i / (1 - p): mean w.h, variance p / (1 - p) sum of (w_i h_i)^2."""
    rate, count = 0.3, 20_000
    posterior = posterior_with(draws=count, dropout_rate=rate)
    params, _ = posterior.init(KEY)
    x = jnp.array([0.3, -1.0, 0.7])
    hidden, last = params.layers
    parts = np.asarray(last.weight * jax.nn.relu(hidden(x))[None])  # [outputs, hidden]
    found = np.asarray(posterior.predict(params, x[None], jax.random.split(KEY, count)))[:, 0]
    variance = rate / (1 - rate) * np.sum(parts**2, axis=1)
    np.testing.assert_allclose(
        found.mean(axis=0), parts.sum(axis=1), atol=4 * np.sqrt(variance.max() / count)
    )
    np.testing.assert_allclose(found.var(axis=0), variance, rtol=0.05)


def test_the_penalty_is_the_articles_weight_decay_for_each_draw():
    settings = {"dropout_rate": 0.2, "prior_length_scale": 2.0, "dropout_noise_scale": 0.5}
    posterior = posterior_with(draws=2, **settings)
    params = eqx.tree_at(
        lambda net: net.layers, NETWORKS(gain=1.0)(KEY), (Dense(jnp.full((50, 3), 0.1), None),) * 2
    )
    decay = 2.0**2 * (1 - 0.2) * 0.5**2 / 10
    np.testing.assert_allclose(
        posterior.penalty(params, None, 10, jax.random.split(KEY)), [decay * 2 * 150 * 0.01] * 2, rtol=1e-5
    )


def test_masks_change_from_step_to_step_and_are_the_only_spread():
    model = surefoot.UADQN(CLIFF, posterior="mc-dropout", **QUICK)
    obs = np.full(11, 0.5, np.float32)
    found = {float(model.beliefs(obs).epistemic_variance[0]) for _ in range(10)}
    assert len(found) > 3
    assert not jax.tree.leaves(model._live_run.learner.prior)


def test_a_users_network_needs_a_key_for_dropout():
    class WithDropout(eqx.Module):
        first: eqx.nn.Linear
        last: eqx.nn.Linear
        dropout: eqx.nn.Dropout

        def __call__(self, x, *, key=None):
            hidden = jax.nn.relu(self.first(x))
            return self.last(self.dropout(hidden, key=key, inference=key is None))

    def with_key(key, outputs):
        first, last = jax.random.split(key)
        return WithDropout(
            eqx.nn.Linear(11, 8, key=first), eqx.nn.Linear(8, outputs, key=last), eqx.nn.Dropout(0.5)
        )

    settings = {**QUICK, "posterior": "mc-dropout"}
    model = surefoot.UADQN(CLIFF, **{**settings, "network": with_key}).learn(40, progress=False)
    assert np.all(model.beliefs(np.full(11, 0.5, np.float32)).epistemic_variance > 0)
    without_dropout = lambda key, outputs: eqx.nn.Linear(11, outputs, key=key)  # noqa: E731
    with pytest.raises(UserError, match="its outputs do not depend on the key"):
        surefoot.UADQN(CLIFF, **{**settings, "network": without_dropout})
    with pytest.raises(UserError, match="takes key= for its dropout"):
        surefoot.UADQN(
            CLIFF, **{**settings, "network": lambda key, outputs: _Keyless(with_key(key, outputs))}
        )


class _Keyless(eqx.Module):
    inner: eqx.Module

    def __call__(self, x):
        return self.inner(x)
