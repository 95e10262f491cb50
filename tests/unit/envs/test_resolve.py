"""Environments from what a user may give: an id, a Gymnasium environment, or an environment in JAX."""

import gymnasium
import pytest

from surefoot.envs import windy_cliff
from surefoot.envs.resolve import clone_env, resolve_env
from surefoot.errors import UserError

CLIFF = "surefoot/WindyCliff-v0"


def test_an_environment_in_jax_is_compiled_also_by_its_id_unless_the_driver_is_hosted():
    assert resolve_env(CLIFF).jax is not None
    assert resolve_env(CLIFF, driver="hosted").jax is None
    assert resolve_env(CLIFF, {"columns": 7}).jax.observation_space.shape == (15,)
    assert resolve_env(windy_cliff.make()).jax is not None


def test_a_gymnasium_environment_is_hosted():
    assert resolve_env("CartPole-v1").jax is None
    with pytest.raises(
        UserError, match="driver: got compiled for CartPole-v1, accepted: hosted, or an environment in JAX"
    ):
        resolve_env("CartPole-v1", driver="compiled")


def test_an_environment_object_is_hosted_and_not_copied():
    env = gymnasium.make(CLIFF)
    handle = resolve_env(env)
    assert handle.jax is None
    assert handle.gym.env is env
    assert handle.name == CLIFF


def test_an_environment_with_a_wrapper_that_changes_it_is_hosted():
    gymnasium.register("surefoot-test/ShortCliff-v0", gymnasium.spec(CLIFF).entry_point, max_episode_steps=3)
    assert resolve_env("surefoot-test/ShortCliff-v0").jax is None


@pytest.mark.parametrize("given", ["CartPole-v1", CLIFF])
def test_a_clone_is_a_separate_environment_with_the_same_spaces(given):
    handle = resolve_env(given)
    clone = clone_env(handle)
    assert clone.gym is not handle.gym
    assert clone.gym.env is not handle.gym.env
    assert clone.gym.observation_space == handle.gym.observation_space


def test_an_object_without_an_id_cannot_be_cloned():
    class Own(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 1, (1,))
        action_space = gymnasium.spaces.Discrete(2)

    with pytest.raises(UserError, match="eval_env: Own has no id to make a second one from"):
        clone_env(resolve_env(Own()))


def test_an_unknown_driver_and_parameters_for_an_object_are_refused():
    with pytest.raises(UserError, match="driver: got fast, accepted: auto, compiled, hosted"):
        resolve_env(CLIFF, driver="fast")
    with pytest.raises(UserError, match=r"env_kwargs: got .*accepted: only with an id"):
        resolve_env(windy_cliff.make(), {"wind": 0.1})
