"""What a model is, as plain data: enough to build it again, all but a user's own network."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import jax
from gymnasium.spaces import Discrete

from surefoot.agents import AGENTS
from surefoot.agents.base import Learning
from surefoot.agents.normalised import normalise
from surefoot.agents.presets import preset_for, settings_of
from surefoot.architectures import CustomNetwork, architecture_for, default_network, image_shape
from surefoot.runs.spaces import space_from_json, space_to_json
from surefoot.training.driver import KEPT
from surefoot.types import Agent, Observations, UserError, words

CUSTOM = "custom"
"""The name of a network that only its user can make."""

AnyNetwork = str | CustomNetwork | None


@dataclass(frozen=True, kw_only=True)
class Blueprint:
    """A model's settings, all resolved."""

    env: str
    env_kwargs: dict[str, Any]
    env_is_object: bool
    """Whether the environment was given as an object, which only its owner can make again."""
    driver: str
    agent: str
    preset: str
    network: str
    normalise: bool
    seed: int
    settings: Learning
    observation_space: Observations
    action_space: Discrete

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {name: value for name, value in vars(self).items() if name not in {"settings"}}
        spaces = {name: space_to_json(getattr(self, name)) for name in ("observation_space", "action_space")}
        return {**plain, "settings": asdict(self.settings), **spaces}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Blueprint":
        """What `as_json` gave."""
        try:
            known = {name: found[name] for name in cls.__dataclass_fields__}
            known["settings"] = settings_of(found["agent"], found["preset"], found["settings"])
            for name in ("observation_space", "action_space"):
                known[name] = space_from_json(found[name])
            if not isinstance(known["action_space"], Discrete) or not isinstance(known["seed"], int):
                raise TypeError("its action space or its seed")
            return cls(**known)
        except UserError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, AssertionError) as error:
            raise UserError(f"model: its description is damaged ({type(error).__name__}: {error})") from error


def draw_up(
    agent: str,
    observation_space: Observations,
    action_space: Discrete,
    *,
    network: AnyNetwork = None,
    preset: str | None = None,
    settings: Mapping[str, Any],
    **rest: Any,
) -> Blueprint:
    """A blueprint with what was left open filled in by the observations."""
    preset = preset or preset_for(observation_space)
    if network is None:
        network = default_network(observation_space)
    return Blueprint(
        agent=agent,
        observation_space=observation_space,
        action_space=action_space,
        preset=preset,
        network=network if isinstance(network, str) else CUSTOM,
        settings=settings_of(agent, preset, settings),
        **rest,
    )


def build(blueprint: Blueprint, network: AnyNetwork) -> Agent:
    """The agent that a blueprint describes; its network, where that is a user's own, must be given."""
    seed, space = blueprint.seed, blueprint.observation_space
    if not 0 <= seed < 2**63:
        raise UserError(f"seed: got {seed}, accepted: whole numbers from 0 to 2^63 - 1")
    if blueprint.network == CUSTOM and (network is None or isinstance(network, str)):
        raise UserError("network: this model has one of its own, accepted: the function that makes it")
    if blueprint.normalise and (isinstance(space, Discrete) or image_shape(space)):
        raise UserError(f"normalise: got observations {words(space)}, accepted: vectors")
    actions = int(blueprint.action_space.n)
    if blueprint.network == CUSTOM:
        name, settings = blueprint.agent, blueprint.settings
        return _agent(name, settings, space, network, actions, normalised=blueprint.normalise)
    form = json.dumps(space_to_json(space), sort_keys=True)
    kind = (blueprint.agent, blueprint.settings, blueprint.network, blueprint.normalise, form, actions)
    return _remembered(*kind, precision=jax.dtypes.canonicalize_dtype(float))


@lru_cache(maxsize=KEPT)
def _remembered(
    name: str, settings: Learning, network: str, normalised: bool, form: str, actions: int, *, precision: Any
) -> Agent:
    """The same agent for equal blueprints, so that its programs are compiled once, however many seeds."""
    del precision  # An agent holds arrays of the precision that it was made in.
    space: Any = space_from_json(json.loads(form))
    return _agent(name, settings, space, network, actions, normalised=normalised)


def _agent(
    name: str, settings: Learning, space: Observations, network: AnyNetwork, actions: int, *, normalised: bool
) -> Agent:
    agent = AGENTS[name].make(settings, architecture_for(space, network), actions)
    return normalise(agent, space.shape or ()) if normalised else agent
