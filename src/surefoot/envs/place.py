"""Where an agent learns: an environment by name, as an object, or in JAX."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
from gymnasium.wrappers import OrderEnforcing

from surefoot.envs.bridge import GymnasiumEnvironment
from surefoot.envs.hosting import CheckedEnvironment, open_environment
from surefoot.types import Environment, UserError

AnyEnvironment = str | gymnasium.Env[Any, Any] | Environment

DRIVERS = ("auto", "compiled", "hosted")


class Place(NamedTuple):
    """An environment, ready to be driven."""

    name: str
    parameters: dict[str, Any]
    outside: CheckedEnvironment
    """Through Gymnasium: for the hosted driver, and for evaluation."""
    inside: Environment | None = None
    """In JAX: for the compiled driver."""


def place_of(env: AnyEnvironment, parameters: Mapping[str, Any] | None = None, driver: str = "auto") -> Place:
    """A place from a Gymnasium id, a Gymnasium environment or one of Surefoot's own.

    Surefoot's own are compiled, by id too, unless `driver` is "hosted". An object is stepped as it is.
    """
    if driver not in DRIVERS:
        raise UserError(f"driver: got {driver}, accepted: {', '.join(DRIVERS)}")
    given = dict(parameters or {})
    if isinstance(env, str):
        opened = open_environment(env, given)
        place = Place(env, given, CheckedEnvironment(opened, env), _in_jax(opened))
    elif given:
        raise UserError(f"env_kwargs: got {given} for an environment that is made, accepted: with an id only")
    elif isinstance(env, Environment):
        wrapped = GymnasiumEnvironment(env, {})
        place = Place("environment", {}, CheckedEnvironment(wrapped, "environment"), env)
    else:
        name = env.spec.id if env.spec is not None else type(env.unwrapped).__name__
        place = Place(name, dict(env.spec.kwargs) if env.spec else {}, CheckedEnvironment(env, name))
    if driver == "compiled" and place.inside is None:
        raise UserError(f"driver: got compiled for {place.name}, accepted: environments in JAX, or hosted")
    return place._replace(inside=None) if driver == "hosted" else place


def _in_jax(env: gymnasium.Env[Any, Any]) -> Environment | None:
    """The environment in JAX behind a Gymnasium one, where nothing in between changes it."""
    while isinstance(env, OrderEnforcing):
        env = env.env
    return env.environment if isinstance(env, GymnasiumEnvironment) else None


def another_like(place: Place) -> Place:
    """A second environment of the same kind, so that one can be played without disturbing the other."""
    if place.inside is not None:
        wrapped = GymnasiumEnvironment(place.inside, {})
        return place._replace(outside=CheckedEnvironment(wrapped, place.name))
    spec = place.outside.env.spec
    if spec is None:
        raise UserError(f"eval_env: {place.name} has no id to make another one by, accepted: an environment")
    return place._replace(outside=CheckedEnvironment(_remade(spec), place.name))


def _remade(spec: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(spec, disable_env_checker=True)
