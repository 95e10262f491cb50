"""Gymnasium environments: made by name or refused in one clear line, and checked at every step."""

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, Tuple

from surefoot.envs.checked import CheckedEnv, make_env, stored_dtype
from surefoot.errors import FaultyEnvironmentError, UserError


class Scripted(gymnasium.Env):
    """Returns from `reset` and `step` what it was given, or calls it."""

    def __init__(self, space=None, actions=None, reset_result=None, step_result=None):
        self.observation_space = space or Box(-9, 9, (2,))
        self.action_space = actions or Discrete(2)
        self.reset_result = (np.zeros(2, np.float32), {}) if reset_result is None else reset_result
        self.step_result = step_result
        self.actions = []

    def reset(self, *, seed=None, options=None):
        self.seed, _ = seed, options
        return self.reset_result() if callable(self.reset_result) else self.reset_result

    def step(self, action):
        self.actions.append(action)
        return self.step_result() if callable(self.step_result) else self.step_result


GOOD = (np.ones(2, np.float32), 1.0, False, False, {})


def checked(**script):
    environment = CheckedEnv(Scripted(**script), "scripted")
    environment.reset(7)
    return environment


def error_of(step_result):
    environment = checked(step_result=step_result)
    with pytest.raises(FaultyEnvironmentError) as error:
        environment.step(0)
    text = str(error.value)
    assert text.startswith("scripted, episode 1, step 1: ")
    assert "\n" not in text
    return text


def raises():
    raise RuntimeError("the motor\nburned")


@pytest.mark.parametrize(
    ("step_result", "message"),
    [
        ((np.array([1, np.nan], np.float32), *GOOD[1:]), "observation has NaN or infinite numbers"),
        ((np.array([1, np.inf], np.float32), *GOOD[1:]), "observation has NaN or infinite numbers"),
        ((np.ones(3, np.float32), *GOOD[1:]), r"shape (3,), accepted: (2,)"),
        ((np.ones((1, 2), np.float32), *GOOD[1:]), r"shape (1, 2), accepted: (2,)"),
        ((np.ones(2, np.float64), *GOOD[1:]), "dtype float64, accepted: float32"),
        ((np.ones(2, int), *GOOD[1:]), "dtype int64, accepted: float32"),
        (([1.0, 2.0], *GOOD[1:]), "observation is a list of 2, accepted: an array"),
        ((None, *GOOD[1:]), "observation is NoneType, accepted: an array"),
        ((GOOD[0], np.nan, *GOOD[2:]), "reward is nan, accepted: finite"),
        ((GOOD[0], -np.inf, *GOOD[2:]), "reward is -inf, accepted: finite"),
        ((GOOD[0], 1e39, *GOOD[2:]), "reward is 1e+39, accepted: finite"),
        ((GOOD[0], "much", *GOOD[2:]), "reward is str, accepted: a number"),
        ((GOOD[0], None, *GOOD[2:]), "reward is NoneType, accepted: a number"),
        ((GOOD[0], np.ones(2), *GOOD[2:]), "reward is an array (2,) float64, accepted: a number"),
        ((GOOD[0], 0.0, 1, False, {}), "terminated is int, accepted: True or False"),
        ((GOOD[0], 0.0, False, None, {}), "truncated is NoneType, accepted: True or False"),
        ((GOOD[0], 0.0, False, False, None), "info is NoneType, accepted: a dict"),
        (
            GOOD[:4],
            "step returned a tuple of 4, accepted: (observation, reward, terminated, truncated, info)",
        ),
        (None, "step returned NoneType"),
        (raises, "step raised RuntimeError: the motor"),
    ],
)
def test_the_error_of_a_bad_step_names_environment_episode_step_and_what_is_accepted(step_result, message):
    assert message in error_of(step_result)


@pytest.mark.parametrize(
    ("reset_result", "message"),
    [
        (lambda: raises(), "reset raised RuntimeError"),
        (
            lambda: np.zeros(2, np.float32),
            "reset returned an array (2,) float32, accepted: (observation, info)",
        ),
        (lambda: (np.zeros(2, np.float32), None), "reset returned a tuple of 2"),
        (lambda: (np.full(2, np.nan, np.float32), {}), "NaN"),
        (lambda: (np.zeros(2, int), {}), "dtype int64, accepted: float32"),
    ],
)
def test_the_error_of_a_bad_reset_names_them_too(reset_result, message):
    environment = CheckedEnv(Scripted(reset_result=reset_result), "scripted")
    with pytest.raises(FaultyEnvironmentError) as error:
        environment.reset(0)
    assert "scripted, episode 1, step 0: " in str(error.value)
    assert message in str(error.value)


@pytest.mark.parametrize("method", ["reset", "step"])
def test_the_error_of_an_exception_is_the_exception_alone(method):
    """Nothing is "accepted" instead of an exception."""
    environment = checked()
    setattr(environment.env, method, lambda *_, **__: raises())
    with pytest.raises(FaultyEnvironmentError, match=f": {method} raised RuntimeError: the motor$"):
        environment.reset(0) if method == "reset" else environment.step(0)


def test_later_episodes_and_steps_are_counted():
    environment = checked(step_result=GOOD)
    for _ in range(3):
        environment.reset(0)
        for _ in range(5):
            environment.step(0)
    environment.env.step_result = None
    with pytest.raises(FaultyEnvironmentError, match="scripted, episode 4, step 6: "):
        environment.step(0)


def test_good_return_values_are_not_changed():
    environment = checked(
        step_result=(np.array([3, 4], np.float32), np.float64(2.5), np.True_, False, {"fell": True})
    )
    step = environment.step(1)
    np.testing.assert_array_equal(step.obs, [3, 4])
    assert step[1:] == (2.5, True, False, {"fell": True})
    assert type(step.terminated) is bool
    assert environment.env.seed == 7


def test_an_observation_is_a_copy_that_the_environment_cannot_change():
    memory = np.zeros(2, np.float32)
    environment = checked(step_result=(memory, *GOOD[1:]))
    step = environment.step(0)
    memory[:] = 9
    np.testing.assert_array_equal(step.obs, 0)


def test_observations_may_be_in_double_precision_if_the_first_one_is():
    environment = checked(reset_result=(np.zeros(2), {}), step_result=(np.ones(2), *GOOD[1:]))
    assert environment.step(0).obs.dtype == np.float32
    environment.env.step_result = (np.full(2, 1e300), *GOOD[1:])
    with pytest.raises(FaultyEnvironmentError, match="infinite"):
        environment.step(0)
    environment.env.step_result = GOOD
    with pytest.raises(FaultyEnvironmentError, match="dtype float32, accepted: float64"):
        environment.step(0)


def test_discrete_observations_are_whole_numbers_in_range():
    environment = checked(
        space=Discrete(4, start=1), reset_result=(np.int64(1), {}), step_result=(4, *GOOD[1:])
    )
    assert environment.step(0).obs == 4
    for bad in (0, 5, 1.0, None, np.array([1])):
        environment.env.step_result = (bad, *GOOD[1:])
        with pytest.raises(FaultyEnvironmentError, match="accepted: whole numbers from 1 to 4"):
            environment.step(0)


def test_actions_are_counted_from_the_start_of_the_action_space():
    environment = checked(actions=Discrete(3, start=-1), step_result=GOOD)
    for action in range(3):
        environment.step(action)
    assert environment.env.actions == [-1, 0, 1]


@pytest.mark.parametrize(
    ("space", "actions", "message"),
    [
        (None, Box(-1, 1, (2,)), "has actions Box.*accepted: Discrete"),
        (None, MultiBinary(3), "has actions MultiBinary.*accepted: Discrete"),
        (Dict(a=Box(0, 1)), None, "has observations Dict, accepted: Box or Discrete"),
        (Tuple([Box(0, 1)]), None, "has observations Tuple, accepted: Box or Discrete"),
        (MultiBinary(3), None, "has observations MultiBinary, accepted: Box or Discrete"),
    ],
)
def test_spaces_that_agents_cannot_use_are_refused(space, actions, message):
    with pytest.raises(UserError, match=f"env: scripted {message}"):
        CheckedEnv(Scripted(space=space, actions=actions), "scripted")


def test_a_vector_of_environments_is_refused():
    with pytest.raises(UserError, match="a vector of environments, accepted: a single one"):
        CheckedEnv(gymnasium.make_vec("CartPole-v1", 2), "CartPole-v1")


@pytest.mark.parametrize(
    ("space", "dtype"),
    [
        (Box(0, 1, (2,)), np.float32),
        (Box(0, 1, (2,), np.float64), np.float32),
        (Box(0, 255, (2,), np.uint8), np.uint8),
        (Box(0, 1, (2,), bool), bool),
        (Box(0, 100, (2,), np.int64), np.int32),
        (Box(0, 2**40, (2,), np.int64), np.float32),
        (Discrete(5), np.int32),
    ],
)
def test_observations_are_stored_in_a_dtype_that_jax_has(space, dtype):
    assert stored_dtype(space) == dtype


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("CartPol-v1", "unknown environment CartPol-v1 .*such as CartPole-v1"),
        ("cartpole", "unknown environment cartpole .*such as CartPole-v1"),
        ("CartPole-v9", "unknown environment CartPole-v9 .*such as CartPole-v1"),
        ("WindyCliff-v0", "unknown environment WindyCliff-v0"),
        ("no.such.module:Thing-v0", "unknown environment no.such.module:Thing-v0 .ModuleNotFoundError"),
        ("Zzzz-v0", "unknown environment Zzzz-v0 .*accepted: ids that Gymnasium knows$"),
    ],
)
def test_an_unknown_environment_is_refused_and_similar_ids_are_named(name, message):
    with pytest.raises(UserError, match=f"env: {message}"):
        make_env(name)


def test_parameters_that_an_environment_does_not_have_are_refused():
    with pytest.raises(UserError, match=r"env_kwargs: CartPole-v1 does not take {'size': 8}"):
        make_env("CartPole-v1", {"size": 8})


def test_the_error_of_a_failing_constructor_is_one_line():
    with pytest.raises(UserError, match="env: FrozenLake-v1 could not be made") as error:
        make_env("FrozenLake-v1", {"map_name": "nowhere"})
    assert "\n" not in str(error.value)
