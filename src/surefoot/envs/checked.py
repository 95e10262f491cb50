"""Gymnasium environments that others wrote: made by name, and checked at every step."""

import difflib
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
import jax
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from surefoot.errors import FaultyEnvironmentError, UserError
from surefoot.text import error_line, single_line
from surefoot.types import ObservationSpace

GymnasiumEnv = gymnasium.Env[Any, Any]

MAX_REWARD = float(np.finfo(np.float32).max)

RESET_RESULT = "(observation, info)"
STEP_RESULT = "(observation, reward, terminated, truncated, info)"
"""What `reset` and `step` of an environment must return."""

UNKNOWN_ENV_ERRORS = (
    gymnasium.error.UnregisteredEnv,  # Unknown are the name, its namespace or its version.
    ModuleNotFoundError,
)


def make_env(name: str, parameters: Mapping[str, Any] | None = None) -> GymnasiumEnv:
    """An environment by its Gymnasium id; `package.module:Id-v0` imports the module that registers it."""
    try:
        # Gymnasium's checker sees only the first step; `CheckedEnv` sees every step.
        return gymnasium.make(name, disable_env_checker=True, **dict(parameters or {}))
    except UserError:
        raise
    except UNKNOWN_ENV_ERRORS as error:
        wrong = f"env: unknown environment {name} ({error_line(error)})"
        raise UserError(f"{wrong}, accepted: ids that Gymnasium knows{_similar_ids(name)}") from error
    except TypeError as error:
        given = f"env_kwargs: {name} does not take {dict(parameters or {})}"
        raise UserError(f"{given} ({error_line(error)}), accepted: its own parameters") from error
    except Exception as error:
        # A user's constructor may raise any exception; its message is for the user to read.
        raise UserError(f"env: {name} could not be made ({error_line(error)})") from error


def _similar_ids(name: str) -> str:
    """Registered ids that are similar to this one, as the end of a sentence; empty if there are none."""
    ids = {each.rsplit("-v", 1)[0].lower(): each for each in gymnasium.registry}
    wanted = name.rsplit(":", 1)[-1].rsplit("-v", 1)[0].lower()
    close = [ids[each] for each in difflib.get_close_matches(wanted, list(ids), 3)]
    return f", such as {', '.join(close)}" if close else ""


def require_observation_space(name: str, space: Any) -> ObservationSpace:
    """The observation space of an environment; refused if agents cannot learn from it."""
    if isinstance(space, Box | Discrete):
        return space
    kind = type(space).__name__
    raise UserError(
        f"env: {name} has observations {kind}, accepted: Box or Discrete "
        "(gymnasium.wrappers.FlattenObservation makes a Box of most others)"
    )


def require_action_space(name: str, space: Any) -> Discrete:
    """The action space of an environment; refused if agents cannot choose from it."""
    if isinstance(space, Discrete):
        return space
    raise UserError(f"env: {name} has actions {single_line(space)}, accepted: Discrete")


class CheckedStep(NamedTuple):
    """What `step` of an environment returned, checked, so that it can be added to a replay."""

    obs: NDArray[Any]
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class CheckedEnv:
    """An environment whose return values are all checked; a bad one raises `FaultyEnvironmentError`.

    Observations are returned as copies, in a dtype that JAX has.
    """

    def __init__(self, env: Any, name: str) -> None:
        if isinstance(env, gymnasium.vector.VectorEnv):
            raise UserError(f"env: {name} is a vector of environments, accepted: a single one")
        self.env: GymnasiumEnv = env
        self.name = name
        self.observation_space = require_observation_space(name, env.observation_space)
        self.action_space = require_action_space(name, env.action_space)
        self.episode, self.step_number = 0, 0
        self._first_action = int(self.action_space.start)
        is_box = isinstance(self.observation_space, Box)
        self._check_observation = self._check_box if is_box else self._check_discrete
        self._dtype: np.dtype[Any] | None = None
        self._stored = stored_dtype(self.observation_space)

    def reset(self, seed: int) -> NDArray[Any]:
        """Begin an episode; returns its first observation."""
        self.episode, self.step_number = self.episode + 1, 0
        try:
            result: Any = self.env.reset(seed=seed)
        except Exception as error:
            raise self._fault(f"reset raised {error_line(error)}") from error
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)):
            raise self._fault(f"reset returned {_describe(result)}, accepted: {RESET_RESULT}")
        return self._check_observation(result[0])

    def step(self, action: int) -> CheckedStep:
        """Take an action, counted from 0."""
        self.step_number += 1
        try:
            result: Any = self.env.step(action + self._first_action)
        except Exception as error:
            raise self._fault(f"step raised {error_line(error)}") from error
        return self.check_step(result)

    def check_step(self, result: Any) -> CheckedStep:
        """The return value of a step, after every part of it has been checked."""
        if not (isinstance(result, tuple) and len(result) == 5):
            raise self._fault(f"step returned {_describe(result)}, accepted: {STEP_RESULT}")
        obs, reward, terminated, truncated, info = result
        if not isinstance(info, dict):
            raise self._fault(f"info is {_describe(info)}, accepted: a dict")
        return CheckedStep(
            self._check_observation(obs),
            self._check_reward(reward),
            self._check_flag("terminated", terminated),
            self._check_flag("truncated", truncated),
            info,
        )

    def close(self) -> None:
        """Close the environment, so that it frees its resources."""
        self.env.close()

    def _fault(self, wrong: str) -> FaultyEnvironmentError:
        return FaultyEnvironmentError(
            f"{self.name}, episode {self.episode}, step {self.step_number}: {wrong}"
        )

    def _check_box(self, obs: Any) -> NDArray[Any]:
        space = self.observation_space
        if not isinstance(obs, np.ndarray | np.generic):
            raise self._fault(
                f"observation is {_describe(obs)}, accepted: an array {space.shape} {space.dtype}"
            )
        if obs.shape != space.shape:
            raise self._fault(f"observation has shape {obs.shape}, accepted: {space.shape}")
        if self._dtype is None or obs.dtype != self._dtype:  # NumPy reads None as float64.
            self._check_dtype(obs.dtype)
        # A copy: an environment may write its next observation into the same memory.
        if obs.dtype == self._stored:
            copied = np.array(obs, order="C")
        else:
            with np.errstate(over="ignore"):  # A number too large becomes infinite, and is refused below.
                copied = np.array(obs, self._stored, order="C")
        if copied.dtype.kind == "f" and not np.isfinite(copied).all():
            raise self._fault("observation has NaN or infinite numbers, accepted: finite numbers")
        return copied

    def _check_dtype(self, dtype: np.dtype[Any]) -> None:
        """Refuse a first observation of another kind than the space's, and later ones of another dtype."""
        declared = np.dtype(self.observation_space.dtype)
        if self._dtype is not None or dtype.kind != declared.kind:
            accepted = self._dtype or declared
            raise self._fault(f"observation has dtype {dtype}, accepted: {accepted}")
        self._dtype = dtype

    def _check_discrete(self, obs: Any) -> NDArray[Any]:
        space = self.observation_space
        assert isinstance(space, Discrete)
        is_integer = np.ndim(obs) == 0 and np.issubdtype(np.asarray(obs).dtype, np.integer)
        if not is_integer or not space.start <= obs < space.start + space.n:
            last = space.start + space.n - 1
            given = f"{obs} ({_describe(obs)})"
            raise self._fault(f"observation is {given}, accepted: whole numbers from {space.start} to {last}")
        return np.asarray(obs, self._stored)

    def _check_reward(self, reward: Any) -> float:
        try:
            number = float(_not_text(reward))
        except OverflowError:
            number = math.inf
        except (TypeError, ValueError):
            raise self._fault(f"reward is {_describe(reward)}, accepted: a number") from None
        if not -MAX_REWARD <= number <= MAX_REWARD:  # The comparison is False for NaN too.
            raise self._fault(f"reward is {single_line(reward)[:40]}, accepted: finite numbers of 32 bits")
        return number

    def _check_flag(self, name: str, flag: Any) -> bool:
        if flag is True or flag is False:
            return flag
        if isinstance(flag, np.bool_):
            return bool(flag)
        raise self._fault(f"{name} is {_describe(flag)}, accepted: True or False")


def boolean_entries(info: dict[str, Any]) -> dict[str, bool]:
    """The entries of an environment's `info` that are true or false: events such as a fall."""
    return {str(name): bool(value) for name, value in info.items() if isinstance(value, bool | np.bool_)}


def stored_dtype(space: ObservationSpace) -> np.dtype[Any]:
    """The dtype that observations from this space are stored in: the nearest that JAX has."""
    if isinstance(space, Discrete):
        return np.dtype(np.int32)
    declared = np.dtype(space.dtype)
    nearest = jax.dtypes.canonicalize_dtype(declared)
    if declared.kind in "iu" and nearest != declared:
        fits = np.all(space.low >= np.iinfo(nearest).min) and np.all(space.high <= np.iinfo(nearest).max)
        return np.dtype(nearest if fits else np.float32)
    return np.dtype(nearest)


def _not_text(value: Any) -> Any:
    """Refuse text, which `float` would read as a number."""
    if isinstance(value, str | bytes):
        raise TypeError
    return value


def _describe(value: Any) -> str:
    """The type of a value, with its length or shape."""
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    if isinstance(value, np.ndarray):
        return f"an array {value.shape} {value.dtype}"
    return type(value).__name__
