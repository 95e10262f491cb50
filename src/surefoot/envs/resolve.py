"""Environments from what a user may give: a Gymnasium id, a Gymnasium environment, or one in JAX."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
from gymnasium.wrappers import OrderEnforcing

from surefoot.envs.as_gymnasium import GymnasiumEnvironment
from surefoot.envs.checked import CheckedEnv, make_env
from surefoot.errors import UserError
from surefoot.text import error_line, single_line
from surefoot.types import Environment

EnvLike = str | gymnasium.Env[Any, Any] | Environment
"""A Gymnasium id, a Gymnasium environment, or an environment in JAX."""

SEPARATE_ENV = "another environment (eval_env= in learn, env= in evaluate)"

DRIVERS = ("auto", "compiled", "hosted")


class EnvHandle(NamedTuple):
    """An environment that is ready for a driver."""

    name: str
    kwargs: dict[str, Any]
    gym: CheckedEnv
    """The environment through Gymnasium, for the hosted driver."""
    jax: Environment | None = None
    """The environment in JAX, for the compiled driver; None if it exists only through Gymnasium."""
    is_object: bool = False
    """Whether it was given as an object, so that only its owner can make it again."""


def resolve_env(env: Any, kwargs: Mapping[str, Any] | None = None, driver: str = "auto") -> EnvHandle:
    """The environment that a user gave, with both of its forms where it has them.

    Surefoot's own environments are compiled, also if they are named by an id, unless `driver` is "hosted".
    A Gymnasium environment that is given as an object is always hosted.
    """
    if driver not in DRIVERS:
        raise UserError(f"driver: got {driver}, accepted: {', '.join(DRIVERS)}")
    given = dict(kwargs or {})
    if isinstance(env, str):
        made = make_env(env, given)
        handle = EnvHandle(env, given, CheckedEnv(made, env), _jax_env_of(made))
    elif given:
        raise UserError(f"env_kwargs: got {given} with an environment object, accepted: only with an id")
    elif isinstance(env, Environment):
        wrapped = GymnasiumEnvironment(env, {})
        handle = EnvHandle("environment", {}, CheckedEnv(wrapped, "environment"), env, is_object=True)
    elif not isinstance(env, gymnasium.Env | gymnasium.vector.VectorEnv):
        accepted = "a Gymnasium id, a Gymnasium environment, or an environment in JAX"
        raise UserError(f"env: got {single_line(env)[:60]} ({type(env).__name__}), accepted: {accepted}")
    else:
        spec: Any = env.spec
        name = spec.id if spec is not None else type(env.unwrapped).__name__
        handle = EnvHandle(name, {}, CheckedEnv(env, name), is_object=True)
    if driver == "compiled" and handle.jax is None:
        raise UserError(f"driver: got compiled for {handle.name}, accepted: hosted, or an environment in JAX")
    return handle._replace(jax=None) if driver == "hosted" else handle


def _jax_env_of(env: gymnasium.Env[Any, Any]) -> Environment | None:
    """The environment in JAX behind a Gymnasium one, if no wrapper between the two changes it."""
    while isinstance(env, OrderEnforcing):
        env = env.env
    return env.environment if isinstance(env, GymnasiumEnvironment) else None


def clone_env(handle: EnvHandle) -> EnvHandle:
    """A second environment like this one, so that episodes in one do not disturb those in the other."""
    if handle.jax is not None:
        wrapped = GymnasiumEnvironment(handle.jax, {})
        return handle._replace(gym=CheckedEnv(wrapped, handle.name))
    spec = handle.gym.env.spec
    if spec is None:
        raise UserError(
            f"eval_env: {handle.name} has no id to make a second one from, accepted: {SEPARATE_ENV}"
        )
    try:
        made = gymnasium.make(spec, disable_env_checker=True)
    except Exception as error:
        # For instance, a user's own wrapper that cannot be made again from its specification.
        wrong = f"eval_env: {handle.name} could not be made a second time ({error_line(error)})"
        raise UserError(f"{wrong}, accepted: {SEPARATE_ENV}") from error
    return handle._replace(gym=CheckedEnv(made, handle.name))
