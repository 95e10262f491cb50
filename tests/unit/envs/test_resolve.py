"""Places: the same environment by name, as an object, or in JAX."""

import gymnasium
import pytest

from surefoot.envs import windy_cliff
from surefoot.envs.resolve import clone_env, resolve_env
from surefoot.errors import UserError

CLIFF = "surefoot/WindyCliff-v0"


def test_an_environment_of_surefoots_is_compiled_by_id_unless_told_otherwise():
    assert resolve_env(CLIFF).jax is not None
    assert resolve_env(CLIFF, driver="hosted").jax is None
    assert resolve_env(CLIFF, {"columns": 7}).jax.observation_space.shape == (15,)
    assert resolve_env(windy_cliff.make()).jax is not None


def test_an_environment_from_outside_is_hosted():
    assert resolve_env("CartPole-v1").jax is None
    with pytest.raises(
        UserError, match="driver: got compiled for CartPole-v1, accepted: environments in JAX"
    ):
        resolve_env("CartPole-v1", driver="compiled")


def test_an_object_is_stepped_as_it_is():
    env = gymnasium.make(CLIFF)
    place = resolve_env(env)
    assert place.jax is None
    assert place.gym.env is env
    assert place.name == CLIFF


def test_wrappers_that_change_an_environment_are_not_compiled_away():
    gymnasium.register("surefoot-test/ShortCliff-v0", gymnasium.spec(CLIFF).entry_point, max_episode_steps=3)
    assert resolve_env("surefoot-test/ShortCliff-v0").jax is None


@pytest.mark.parametrize("given", ["CartPole-v1", CLIFF])
def test_another_like_it_can_be_played_without_disturbing_it(given):
    place = resolve_env(given)
    other = clone_env(place)
    assert other.gym is not place.gym
    assert other.gym.env is not place.gym.env
    assert other.gym.observation_space == place.gym.observation_space


def test_an_object_without_an_id_cannot_be_made_again():
    class Own(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 1, (1,))
        action_space = gymnasium.spaces.Discrete(2)

    with pytest.raises(UserError, match="eval_env: Own has no id to make another one by"):
        clone_env(resolve_env(Own()))


def test_a_bad_driver_or_parameters_beside_an_object_are_refused():
    with pytest.raises(UserError, match="driver: got fast, accepted: auto, compiled, hosted"):
        resolve_env(CLIFF, driver="fast")
    with pytest.raises(UserError, match=r"env_kwargs: got .*accepted: with an id only"):
        resolve_env(windy_cliff.make(), {"wind": 0.1})
