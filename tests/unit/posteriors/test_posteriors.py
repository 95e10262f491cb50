"""All posteriors: closed forms of a linear model where they exist, fixed priors, and training with each."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import surefoot
from surefoot.layers import orthogonal
from surefoot.networks import is_trained, mlp
from surefoot.posteriors import POSTERIORS, ensemble, prior_functions
from surefoot.posteriors.bayes_by_backprop import scale_mixture, variational_posterior
from surefoot.types import NetworkFactory
from tests.small_models import CLIFF, QUICK, have_equal_learners

KEY = jax.random.key(0)
INPUTS = jax.random.normal(KEY, (6, 3))


def factory(widths=(8,), outputs=(2,)):
    return NetworkFactory(
        lambda *, gain, dropout: mlp(3, widths, outputs, layer=orthogonal(gain), dropout=dropout),
        jnp.ravel,
        jax.ShapeDtypeStruct((3,), float),
        outputs,
    )


def make(name, draws=3, **settings):
    kind = POSTERIORS[name]
    return kind.make(kind.config(**settings), factory(), draws)


def trained(posterior, x, y, *, steps, rate, key=KEY):
    """Parameters after full-batch training on squared errors, with a learning rate that falls to zero."""
    params, prior = posterior.init(key)
    optimiser = optax.adam(optax.cosine_decay_schedule(rate, steps))

    @eqx.filter_jit
    def run(params):
        moving, fixed = eqx.partition(params, is_trained(params))

        def loss(moving, keys):
            whole = eqx.combine(moving, fixed)
            errors = posterior.predict(whole, x, keys)[..., 0] - y[None]
            return jnp.sum((errors**2).mean(axis=-1) + posterior.penalty(whole, prior, len(y), keys))

        def step(i, carry):
            moving, state = carry
            keys = jax.random.split(jax.random.fold_in(key, i), posterior.draws)
            with jax.numpy_dtype_promotion("standard"):
                updates, state = optimiser.update(jax.grad(loss)(moving, keys), state)
            return optax.apply_updates(moving, updates), state

        with jax.numpy_dtype_promotion("standard"):
            state = optimiser.init(moving)
        moving, _ = jax.lax.fori_loop(0, steps, step, (moving, state))
        return eqx.combine(moving, fixed)

    return run(params)


def test_bayes_by_backprop_finds_the_posterior_of_a_linear_model():
    """With orthogonal inputs the posterior factorises, so that the variational one is exact.

    y = w.x with noise s and prior N(0, p^2): precision x'x / s^2 + 1 / p^2, mean (x'y / s^2) / precision.
    """
    noise, prior_sd = 0.5, 2.0
    x = jnp.array([[1.0, 0.0], [2.0, 0.0], [0.0, 0.3], [0.0, -0.4]])
    y = x @ jnp.array([1.5, -2.0]) + jnp.array([0.2, -0.1, 0.3, 0.1])
    posterior = variational_posterior(
        mlp(2, (), (1,), output_bias=False),
        8,
        initial_sd=0.1,
        log_prior=scale_mixture(1.0, prior_sd, 1.0),
        weight=lambda count: 2 * noise**2 / count,
    )
    params = trained(posterior, x, y, steps=4_000, rate=0.02)
    precision = np.sum(np.square(x), axis=0) / noise**2 + 1 / prior_sd**2
    mean = np.asarray(x.T @ y) / noise**2 / precision
    np.testing.assert_allclose(params.mean.layers[0].weight[0], mean, atol=0.02)
    found = jax.nn.softplus(params.spread.layers[0].weight[0])
    np.testing.assert_allclose(found, 1 / np.sqrt(precision), rtol=0.05)
    draws = posterior.predict(params, x, jax.random.split(KEY, 8))
    assert draws.shape == (8, 4, 1)


def test_the_divergence_of_a_sample_is_that_of_its_densities():
    """At equal normal distributions it is zero for every sample."""
    posterior = variational_posterior(
        lambda key: jax.tree.map(jnp.zeros_like, mlp(2, (), (1,))(key)),
        3,
        initial_sd=0.7,
        log_prior=scale_mixture(1.0, 0.7, 1.0),
        weight=lambda count: 1 / count,
    )
    params, prior = posterior.init(KEY)
    np.testing.assert_allclose(
        posterior.penalty(params, prior, 5, jax.random.split(KEY, 3)), np.zeros(3), atol=1e-5
    )


def test_a_scale_mixture_is_the_mean_of_its_parts():
    w = jnp.array([0.0, 0.3, -2.0])
    wide, narrow = (np.exp(-np.square(w) / (2 * sd**2)) / (sd * np.sqrt(2 * np.pi)) for sd in (1.0, 0.1))
    expected = np.sum(np.log(0.25 * wide + 0.75 * narrow))
    np.testing.assert_allclose(scale_mixture(0.25, 1.0, 0.1)(w), expected, rtol=1e-5)


def test_networks_of_a_plain_ensemble_learn_the_data_and_differ_elsewhere():
    x = jnp.linspace(-1, 1, 8)[:, None] * jnp.ones((1, 3))
    y = x[:, 0] ** 2
    posterior = make("ensemble", 4)
    params = trained(posterior, x, y, steps=2_000, rate=0.01)
    keys = jax.random.split(KEY, 4)
    at_data = posterior.predict(params, x, keys)[..., 0]
    np.testing.assert_allclose(at_data, np.broadcast_to(y, (4, 8)), atol=0.1)
    far = posterior.predict(params, jnp.full((1, 3), 5.0), keys)[:, 0, 0]
    assert np.std(far) > 10 * np.std(at_data, axis=0).mean()


def test_prior_functions_are_not_trained_and_decide_where_there_are_no_data():
    """A linear model with data on its first input only: its second weight stays the prior's, scaled."""
    x = jnp.zeros((5, 3)).at[:, 0].set(jnp.linspace(-1, 1, 5))
    y = 2 * x[:, 0]
    config = prior_functions.Config(prior_function_scale=3.0)
    posterior = prior_functions.make(config, factory(widths=(), outputs=(1,)), 4)
    before, _ = posterior.init(KEY)
    after = trained(posterior, x, y, steps=3_000, rate=0.03)
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old.prior.network.layers[0].weight, new.prior.network.layers[0].weight)
        total = new.trained.layers[0].weight + 3.0 * new.prior.network.layers[0].weight
        untouched = old.trained.layers[0].weight + 3.0 * old.prior.network.layers[0].weight
        assert float(total[0, 0]) == pytest.approx(2.0, abs=1e-3)
        np.testing.assert_allclose(total[0, 1:], untouched[0, 1:], atol=1e-5)


def test_draws_of_an_epinet_share_their_base_and_are_linear_in_nothing_but_the_prior():
    """Without the trained part, a draw is the base plus the prior networks weighted by the index."""
    posterior = make("epinet", 5, epinet_prior_scale=2.0)
    params, _ = posterior.init(KEY)
    silent = eqx.tree_at(lambda tree: tree.trained, params, jax.tree.map(jnp.zeros_like, params.trained))
    keys = jax.random.split(KEY, 5)
    found = posterior.predict(silent, INPUTS, keys)
    assert found.shape == (5, 6, 2)
    index = jax.random.normal(keys[3], (8,))
    parts = jax.vmap(lambda x: eqx.filter_vmap(lambda network: network(x))(params.prior.network.stacked))(
        INPUTS
    )  # [B, index, out]
    expected = jax.vmap(params.base)(INPUTS) + 2.0 * np.einsum("i,bio->bo", index, parts)
    np.testing.assert_allclose(found[3], expected, rtol=1e-4, atol=1e-5)


def test_an_epinet_learns_the_data_without_changing_its_prior():
    x = jnp.linspace(-1, 1, 8)[:, None] * jnp.ones((1, 3))
    y = x[:, 0] ** 2
    posterior = make("epinet", 8)
    before, _ = posterior.init(KEY)
    after = trained(posterior, x, y, steps=3_000, rate=0.01)
    jax.tree.map(np.testing.assert_array_equal, before.prior, after.prior)
    keys = jax.random.split(jax.random.key(1), 8)
    at_data = np.asarray(posterior.predict(after, x, keys)[..., 0])
    far = np.asarray(posterior.predict(after, jnp.full((1, 3), 5.0), keys)[:, 0, 0])
    assert np.abs(at_data - np.asarray(y)).mean() < 0.1
    assert far.std() > 3 * at_data.std(axis=0).mean()


@pytest.mark.parametrize("name", list(POSTERIORS))
def test_a_draw_is_one_function_of_its_key(name):
    posterior = make(name)
    params, prior = posterior.init(KEY)
    keys = jax.random.split(KEY, 3)
    twice = jnp.concatenate([INPUTS, INPUTS])
    found = posterior.predict(params, twice, keys)
    assert found.shape == (3, 12, 2)
    np.testing.assert_allclose(found[:, :6], found[:, 6:], rtol=1e-5, atol=1e-6)
    assert not np.allclose(found[0], found[1])
    assert posterior.penalty(params, prior, 10, keys).shape == (3,)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "epinet" else pytest.mark.slow) for name in POSTERIORS],
)
def test_every_posterior_trains_uadqn_and_is_saved_with_it(name, tmp_path):
    model = surefoot.UADQN(CLIFF, posterior=name, **QUICK).learn(60, progress=False)
    assert np.all(model.beliefs(np.zeros(11, np.float32)).epistemic_variance >= 0)
    model.save(tmp_path / "model")
    again = surefoot.load(tmp_path / "model")
    assert again.settings.posterior == name
    assert have_equal_learners(again.learn(20, progress=False), model.learn(20, progress=False))


def test_an_ensemble_has_no_penalty():
    posterior = ensemble.make(ensemble.Config(), factory(), 2)
    params, prior = posterior.init(KEY)
    np.testing.assert_array_equal(posterior.penalty(params, prior, 1, jax.random.split(KEY)), np.zeros(2))
