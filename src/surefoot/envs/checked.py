"""Gymnasium environments from outside: found by name, and checked at every step."""

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

LARGEST_REWARD = float(np.finfo(np.float32).max)

RESET, STEP = "(observation, info)", "(observation, reward, terminated, truncated, info)"
"""What an environment must return."""

UNKNOWN = (
    gymnasium.error.UnregisteredEnv,  # The name, its namespace or its version.
    ModuleNotFoundError,
)


def make_env(name: str, parameters: Mapping[str, Any] | None = None) -> GymnasiumEnv:
    """An environment by its Gymnasium id; `package.module:Id-v0` imports the module that registers it."""
    try:
        # Ours are checked at every step, not only at the first.
        return gymnasium.make(name, disable_env_checker=True, **dict(parameters or {}))
    except UserError:
        raise
    except UNKNOWN as error:
        wrong = f"env: unknown environment {name} ({error_line(error)})"
        raise UserError(f"{wrong}, accepted: ids that Gymnasium knows{_close_to(name)}") from error
    except TypeError as error:
        given = f"env_kwargs: {name} does not take {dict(parameters or {})}"
        raise UserError(f"{given} ({error_line(error)}), accepted: its own parameters") from error
    except Exception as error:
        # Whatever a stranger's constructor raises is the user's to read.
        raise UserError(f"env: {name} could not be made ({error_line(error)})") from error


def _close_to(name: str) -> str:
    """Registered names like this one, as the end of a sentence."""
    plain = {each.rsplit("-v", 1)[0].lower(): each for each in gymnasium.registry}
    word = name.rsplit(":", 1)[-1].rsplit("-v", 1)[0].lower()
    close = [plain[each] for each in difflib.get_close_matches(word, list(plain), 3)]
    return f", such as {', '.join(close)}" if close else ""


def observations_of(name: str, space: Any) -> ObservationSpace:
    """The space of observations, if agents can learn from it."""
    if isinstance(space, Box | Discrete):
        return space
    kind = type(space).__name__
    raise UserError(
        f"env: {name} has observations {kind}, accepted: Box or Discrete "
        "(gymnasium.wrappers.FlattenObservation makes a Box of most others)"
    )


def actions_of(name: str, space: Any) -> Discrete:
    """The space of actions, if agents can choose from it."""
    if isinstance(space, Discrete):
        return space
    raise UserError(f"env: {name} has actions {single_line(space)}, accepted: Discrete")


class CheckedStep(NamedTuple):
    """What an environment answered, fit to enter a replay."""

    obs: NDArray[Any]
    reward: float
    terminated: bool
    truncated: bool
    info: dict[str, Any]


class CheckedEnv:
    """An environment whose every answer is checked; a bad one raises `FaultyEnvironmentError`.

    ObservationSpace come out as copies of their own, in a dtype that JAX stores.
    """

    def __init__(self, env: Any, name: str) -> None:
        if isinstance(env, gymnasium.vector.VectorEnv):
            raise UserError(f"env: {name} is a vector of environments, accepted: a single one")
        self.env: GymnasiumEnv = env
        self.name = name
        self.observation_space = observations_of(name, env.observation_space)
        self.action_space = actions_of(name, env.action_space)
        self.episode, self.step_number = 0, 0
        self._first_action = int(self.action_space.start)
        self._accept = self._accept_box if isinstance(self.observation_space, Box) else self._accept_discrete
        self._dtype: np.dtype[Any] | None = None
        self._stored = stored_dtype(self.observation_space)

    def reset(self, seed: int) -> NDArray[Any]:
        """Begin an episode; its first observation."""
        self.episode, self.step_number = self.episode + 1, 0
        try:
            found: Any = self.env.reset(seed=seed)
        except Exception as error:
            raise self._fault(f"reset raised {error_line(error)}, accepted: {RESET}") from error
        if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict)):
            raise self._fault(f"reset returned {_form(found)}, accepted: {RESET}")
        return self._accept(found[0])

    def step(self, action: int) -> CheckedStep:
        """Take an action, counted from 0."""
        self.step_number += 1
        try:
            found: Any = self.env.step(action + self._first_action)
        except Exception as error:
            # A wrapper that takes a bad tuple apart raises, too.
            raise self._fault(f"step raised {error_line(error)}, accepted: {STEP}") from error
        return self.accept(found)

    def accept(self, found: Any) -> CheckedStep:
        """What a step returned, if nothing is wrong with it."""
        if not (isinstance(found, tuple) and len(found) == 5):
            raise self._fault(f"step returned {_form(found)}, accepted: {STEP}")
        obs, reward, terminated, truncated, info = found
        if not isinstance(info, dict):
            raise self._fault(f"info is {_form(info)}, accepted: a dict")
        return CheckedStep(
            self._accept(obs),
            self._accept_reward(reward),
            self._accept_flag("terminated", terminated),
            self._accept_flag("truncated", truncated),
            info,
        )

    def close(self) -> None:
        """Let the environment free what it holds."""
        self.env.close()

    def _fault(self, wrong: str) -> FaultyEnvironmentError:
        return FaultyEnvironmentError(
            f"{self.name}, episode {self.episode}, step {self.step_number}: {wrong}"
        )

    def _accept_box(self, obs: Any) -> NDArray[Any]:
        space = self.observation_space
        if not isinstance(obs, np.ndarray | np.generic):
            raise self._fault(f"observation is {_form(obs)}, accepted: an array {space.shape} {space.dtype}")
        if obs.shape != space.shape:
            raise self._fault(f"observation has shape {obs.shape}, accepted: {space.shape}")
        if self._dtype is None or obs.dtype != self._dtype:  # NumPy takes None for a dtype of its own.
            self._accept_dtype(obs.dtype)
        # A copy: an environment may write its next observation into the same memory.
        if obs.dtype == self._stored:
            copied = np.array(obs, order="C")
        else:
            with np.errstate(over="ignore"):  # What does not fit becomes infinite, and is refused.
                copied = np.array(obs, self._stored, order="C")
        if copied.dtype.kind == "f" and not np.isfinite(copied).all():
            raise self._fault("observation has NaN or infinite numbers, accepted: finite ones")
        return copied

    def _accept_dtype(self, dtype: np.dtype[Any]) -> None:
        """Hold an environment to the dtype of its first observation, if that is of its space's kind."""
        declared = np.dtype(self.observation_space.dtype)
        if self._dtype is not None or dtype.kind != declared.kind:
            accepted = self._dtype or declared
            raise self._fault(f"observation has dtype {dtype}, accepted: {accepted}")
        self._dtype = dtype

    def _accept_discrete(self, obs: Any) -> NDArray[Any]:
        space = self.observation_space
        assert isinstance(space, Discrete)
        whole = np.ndim(obs) == 0 and np.issubdtype(np.asarray(obs).dtype, np.integer)
        if not whole or not space.start <= obs < space.start + space.n:
            last = space.start + space.n - 1
            what = f"{obs} ({_form(obs)})"
            raise self._fault(f"observation is {what}, accepted: whole numbers from {space.start} to {last}")
        return np.asarray(obs, self._stored)

    def _accept_reward(self, reward: Any) -> float:
        try:
            number = float(_not_text(reward))
        except OverflowError:
            number = math.inf
        except (TypeError, ValueError):
            raise self._fault(f"reward is {_form(reward)}, accepted: a number") from None
        if not -LARGEST_REWARD <= number <= LARGEST_REWARD:  # False for NaN too.
            raise self._fault(f"reward is {single_line(reward)[:40]}, accepted: finite numbers of 32 bits")
        return number

    def _accept_flag(self, name: str, flag: Any) -> bool:
        if flag is True or flag is False:
            return flag
        if isinstance(flag, np.bool_):
            return bool(flag)
        raise self._fault(f"{name} is {_form(flag)}, accepted: True or False")


def stored_dtype(space: ObservationSpace) -> np.dtype[Any]:
    """The dtype that JAX keeps such observations in."""
    if isinstance(space, Discrete):
        return np.dtype(np.int32)
    declared = np.dtype(space.dtype)
    kept = jax.dtypes.canonicalize_dtype(declared)
    if declared.kind in "iu" and kept != declared:
        fits = np.all(space.low >= np.iinfo(kept).min) and np.all(space.high <= np.iinfo(kept).max)
        return np.dtype(kept if fits else np.float32)
    return np.dtype(kept)


def _not_text(thing: Any) -> Any:
    """Refuse text, which float would read as a number."""
    if isinstance(thing, str | bytes):
        raise TypeError
    return thing


def _form(thing: Any) -> str:
    """What a thing is, in few words."""
    if isinstance(thing, tuple | list):
        return f"a {type(thing).__name__} of {len(thing)}"
    if isinstance(thing, np.ndarray):
        return f"an array {thing.shape} {thing.dtype}"
    return type(thing).__name__
