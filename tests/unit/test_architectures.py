"""Networks that suit any observations, and networks of a user's own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from surefoot.agents import AGENTS
from surefoot.architectures import architecture_for, default_network, encoding_of, image_shape
from surefoot.envs import windy_cliff
from surefoot.errors import UserError
from surefoot.training import compiled_driver
from tests.small_models import quick_with

KEY = jax.random.key(0)
VECTOR = Box(-1, 1, (3,))
BYTES = Box(0, 255, (6, 5, 2), np.uint8)
GRID = Box(0, 1, (4, 4), bool)


@pytest.mark.parametrize(
    ("space", "default", "seen"),
    [
        (VECTOR, "mlp:128,128", (3,)),
        (Discrete(7, start=2), "mlp:128,128", (7,)),
        (BYTES, "minatar", (6, 5, 2)),
        (GRID, "minatar", (4, 4, 1)),
        (Box(-1, 1, (2, 2)), "mlp:128,128", (4,)),
        (Box(-1, 1, (2, 3, 4, 5)), "mlp:128,128", (120,)),
        (Box(-1, 1, ()), "mlp:128,128", (1,)),
    ],
)
def test_what_suits_each_kind_of_observation(space, default, seen):
    assert default_network(space) == default
    encode, shape = encoding_of(space)
    obs = space.sample()
    assert encode(jnp.asarray(obs)).shape == shape == seen
    network = architecture_for(space).network((3, 5), gain=1.0)
    several = architecture_for(space).heads(4, (3,), gain=1.0)
    for make, outputs in ((network, (3, 5)), (several, (4, 3))):
        found = jax.eval_shape(lambda key, obs, make=make: make(key)(obs), KEY, jnp.asarray(obs))
        assert found.shape == outputs


def test_a_discrete_observation_is_seen_as_one_of_its_values():
    encode, _ = encoding_of(Discrete(3, start=5))
    np.testing.assert_array_equal([encode(jnp.int32(each)) for each in (5, 6, 7)], np.eye(3))


def test_bytes_are_seen_from_0_to_1_and_other_numbers_as_they_are():
    encode, _ = encoding_of(BYTES)
    assert encode(jnp.full((6, 5, 2), 255, jnp.uint8)).max() == 1
    encode, _ = encoding_of(Box(0, 9, (3,), np.uint8))
    np.testing.assert_array_equal(encode(jnp.array([0, 4, 9], jnp.uint8)), [0, 4, 9])


def test_an_image_can_go_through_an_mlp():
    network = architecture_for(BYTES, "mlp:8").network((2,), gain=1.0)(KEY)
    assert network(jnp.zeros((6, 5, 2), jnp.uint8)).shape == (2,)


def test_grids_too_small_for_the_convolution_are_vectors():
    assert image_shape(Box(0, 1, (2, 9, 1))) is None


@pytest.mark.parametrize(
    ("space", "spec"),
    [(VECTOR, "mlp:"), (VECTOR, "mlp:0"), (VECTOR, "mlp:a,b"), (VECTOR, "minatar"), (VECTOR, "resnet")],
)
def test_a_bad_network_is_refused_with_what_is_accepted(space, spec):
    with pytest.raises(UserError, match=f"network: got {spec}.*accepted: mlp:"):
        architecture_for(space, spec)


class WithFunctions(eqx.Module):
    """A module as users write them: with leaves that are no arrays."""

    layers: list
    activation: object

    def __init__(self, key, outputs):
        one, two = jax.random.split(key)
        self.layers = [eqx.nn.Linear(11, 8, key=one), eqx.nn.Linear(8, outputs, key=two)]
        self.activation = jax.nn.tanh

    def __call__(self, x):
        return self.layers[1](self.activation(self.layers[0](x)))


@pytest.mark.parametrize(
    "make",
    [WithFunctions, lambda key, outputs: eqx.nn.MLP(11, outputs, 8, 1, key=key)],
    ids=["with functions", "Equinox's own"],
)
@pytest.mark.parametrize("name", quick_with("bootstrapped"))
def test_every_agent_learns_with_any_equinox_module_in_the_compiled_loop(name, make):
    environment = windy_cliff.make()
    kind = AGENTS[name]
    config = kind.settings(batch_size=4, replay_capacity=50, learning_starts=10, target_period=10)
    agent = kind.make(config, architecture_for(environment.observation_space, make), 4, None)
    driver = compiled_driver.make(agent, environment, config)
    before = driver.init(KEY)
    state = driver.advance(driver.init(KEY), 30).state
    moved = [
        not np.array_equal(a, b)
        for a, b in zip(
            *(jax.tree.leaves(each.train.learner.params) for each in (before, state)), strict=True
        )
    ]
    assert any(moved)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(state.train.learner.params))


def test_two_draws_of_a_users_network_are_different():
    network = architecture_for(VECTOR, lambda key, outputs: eqx.nn.Linear(3, outputs, key=key)).network(
        (2,), gain=1.0
    )
    one, other = (network(key)(jnp.ones(3)) for key in jax.random.split(KEY))
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda key, outputs: eqx.nn.Linear(5, outputs, key=key), "it failed with"),
        (lambda key, outputs: eqx.nn.Linear(3, outputs + 1, key=key), r"got outputs \(3,\)"),
        (lambda _: None, "it failed with TypeError"),
        (lambda _, outputs: jnp.ones(outputs), "it failed with TypeError"),
    ],
)
def test_a_network_that_does_not_fit_is_refused_at_once(make, says):
    with pytest.raises(
        UserError, match=rf"network: {says}.*accepted: a module that maps an observation \(3,\)"
    ) as e:
        architecture_for(VECTOR, make).network((2,), gain=1.0)
    assert "\n" not in str(e.value)
