"""Where an agent learns: an environment by name, as an object, or in JAX."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import gymnasium
from gymnasium.wrappers import OrderEnforcing

from surefoot.envs.bridge import GymnasiumEnvironment
from surefoot.envs.hosting import CheckedEnvironment, open_environment
from surefoot.types import Environment, UserError, one_line, words

AnyEnvironment = str | gymnasium.Env[Any, Any] | Environment

APART = "another environment (eval_env= in learn, env= in evaluate)"

DRIVERS = ("auto", "compiled", "hosted")


class Place(NamedTuple):
    """An environment, ready to be driven."""

    name: str
    parameters: dict[str, Any]
    outside: CheckedEnvironment
    """Through Gymnasium: for the hosted driver, and for evaluation."""
    inside: Environment | None = None
    """In JAX: for the compiled driver."""
    is_object: bool = False
    """Whether it was given as an object, so that only its owner can make it again as it is."""


def place_of(env: Any, parameters: Mapping[str, Any] | None = None, driver: str = "auto") -> Place:
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
        place = Place("environment", {}, CheckedEnvironment(wrapped, "environment"), env, is_object=True)
    elif not isinstance(env, gymnasium.Env | gymnasium.vector.VectorEnv):
        accepted = "a Gymnasium id, a Gymnasium environment, or one of Surefoot's"
        raise UserError(f"env: got {words(env)[:60]} ({type(env).__name__}), accepted: {accepted}")
    else:
        spec: Any = env.spec
        name = spec.id if spec is not None else type(env.unwrapped).__name__
        place = Place(name, {}, CheckedEnvironment(env, name), is_object=True)
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
        raise UserError(f"eval_env: {place.name} has no id to make another one by, accepted: {APART}")
    try:
        made = gymnasium.make(spec, disable_env_checker=True)
    except Exception as error:
        # Wrappers of a user's own, say, that cannot be made again from what is known of them.
        wrong = f"eval_env: {place.name} could not be made again ({one_line(error)})"
        raise UserError(f"{wrong}, accepted: {APART}") from error
    return place._replace(outside=CheckedEnvironment(made, place.name))
