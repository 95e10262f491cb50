"""Places: the same environment by name, as an object, or in JAX."""

import gymnasium
import pytest

from surefoot.envs import windy_cliff
from surefoot.envs.place import another_like, place_of
from surefoot.types import UserError

CLIFF = "surefoot/WindyCliff-v0"


def test_an_environment_of_surefoots_is_compiled_by_id_unless_told_otherwise():
    assert place_of(CLIFF).inside is not None
    assert place_of(CLIFF, driver="hosted").inside is None
    assert place_of(CLIFF, {"columns": 7}).inside.observation_space.shape == (15,)
    assert place_of(windy_cliff.make()).inside is not None


def test_an_environment_from_outside_is_hosted():
    assert place_of("CartPole-v1").inside is None
    with pytest.raises(
        UserError, match="driver: got compiled for CartPole-v1, accepted: environments in JAX"
    ):
        place_of("CartPole-v1", driver="compiled")


def test_an_object_is_stepped_as_it_is():
    env = gymnasium.make(CLIFF)
    place = place_of(env)
    assert place.inside is None
    assert place.outside.env is env
    assert place.name == CLIFF


def test_wrappers_that_change_an_environment_are_not_compiled_away():
    gymnasium.register("surefoot-test/ShortCliff-v0", gymnasium.spec(CLIFF).entry_point, max_episode_steps=3)
    assert place_of("surefoot-test/ShortCliff-v0").inside is None


@pytest.mark.parametrize("given", ["CartPole-v1", CLIFF])
def test_another_like_it_can_be_played_without_disturbing_it(given):
    place = place_of(given)
    other = another_like(place)
    assert other.outside is not place.outside
    assert other.outside.env is not place.outside.env
    assert other.outside.observation_space == place.outside.observation_space


def test_an_object_without_an_id_cannot_be_made_again():
    class Own(gymnasium.Env):
        observation_space = gymnasium.spaces.Box(0, 1, (1,))
        action_space = gymnasium.spaces.Discrete(2)

    with pytest.raises(UserError, match="eval_env: Own has no id to make another one by"):
        another_like(place_of(Own()))


def test_a_bad_driver_or_parameters_beside_an_object_are_refused():
    with pytest.raises(UserError, match="driver: got fast, accepted: auto, compiled, hosted"):
        place_of(CLIFF, driver="fast")
    with pytest.raises(UserError, match=r"env_kwargs: got .*accepted: with an id only"):
        place_of(windy_cliff.make(), {"wind": 0.1})
