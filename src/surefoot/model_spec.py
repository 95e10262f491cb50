"""What a model is, as plain data: enough to build it again, except for objects that only a user can make."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from surefoot.agents import AGENTS
from surefoot.agents.base import AgentConfig, AgentKind
from surefoot.agents.observation_normalisation import normalise
from surefoot.agents.presets import preset_for, resolve_settings
from surefoot.architectures import CustomNetwork, architecture_for, default_network, image_shape
from surefoot.envs.budget import BudgetRule, space_with_budget
from surefoot.errors import UserError, require, require_whole_number
from surefoot.optimisers import ADAM
from surefoot.program_cache import cached_program
from surefoot.risk import MEAN, NamedRiskMeasure, parse_risk
from surefoot.settings import coerce
from surefoot.text import error_line, single_line
from surefoot.types import Agent, ObservationSpace

CUSTOM = "custom"
"""Stands for a network or an optimiser that was given as a Python object."""

NetworkLike = str | CustomNetwork | None
"""A network's name, a function that makes one, or None for the default."""

MAX_SEED = 2**32 - 1
"""JAX's random keys tell 32 bits apart."""
MAX_OBSERVATION_SIZE = 10**8
"""Numbers in one observation; a larger space is taken for a damaged file."""


@dataclass(frozen=True, kw_only=True)
class ModelSpec:
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
    settings: AgentConfig
    observation_space: ObservationSpace
    action_space: Discrete
    optimiser: str = ADAM

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        plain = {name: value for name, value in vars(self).items() if name not in {"settings"}}
        spaces = {name: space_to_json(getattr(self, name)) for name in ("observation_space", "action_space")}
        return {**plain, "settings": asdict(self.settings), **spaces}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "ModelSpec":
        """The specification that `as_json` described."""
        try:
            known = {name: found[name] for name in cls.__dataclass_fields__ if name != "optimiser"}
            known["optimiser"] = found.get("optimiser", ADAM)
            known["settings"] = resolve_settings(found["agent"], found["preset"], found["settings"])
            for name in ("observation_space", "action_space"):
                known[name] = space_from_json(found[name])
            if not isinstance(known["action_space"], Discrete) or not isinstance(known["seed"], int):
                raise TypeError("its action space or its seed")
            return cls(**known)
        except UserError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, AssertionError) as error:
            raise UserError(f"model: its description is damaged ({error_line(error)})") from error


def resolve_spec(
    agent: str,
    observation_space: ObservationSpace,
    action_space: Discrete,
    *,
    network: Any = None,
    optimiser: Any = None,
    preset: str | None = None,
    settings: Mapping[str, Any],
    normalise: Any = False,
    seed: Any = 0,
    **rest: Any,
) -> ModelSpec:
    """A specification in which what was not given suits the observations.

    With a static objective, the model's observations are those of the environment and a budget.
    """
    preset = preset or preset_for(observation_space)
    if network is None:
        network = default_network(observation_space)
    seed = require_whole_number("seed", seed, 0)
    require("seed", seed, seed <= MAX_SEED, f"whole numbers from 0 to {MAX_SEED} (2^32 - 1)")
    resolved = resolve_settings(agent, preset, settings, observation_space)
    return ModelSpec(
        agent=agent,
        observation_space=space_with_budget(observation_space)
        if budget_rule(resolved)
        else observation_space,
        action_space=action_space,
        preset=preset,
        network=network if isinstance(network, str) else CUSTOM,
        optimiser=ADAM if optimiser is None else optimiser if isinstance(optimiser, str) else CUSTOM,
        settings=resolved,
        normalise=coerce("normalise", normalise, bool),
        seed=seed,
        **rest,
    )


def budget_rule(settings: AgentConfig) -> BudgetRule | None:
    """How budgets follow rewards, for an agent with a static objective."""
    if getattr(settings, "objective", None) != "static":
        return None
    numbers: Any = settings
    return BudgetRule(numbers.discount, numbers.min_return, numbers.max_return)


def own_risk(settings: AgentConfig) -> NamedRiskMeasure:
    """The attitude to risk of an agent's own policy."""
    return parse_risk(getattr(settings, "risk", str(MEAN)))


def agent_of(spec: ModelSpec, network: Any = None, optimiser: Any = None) -> Agent:
    """The agent that a specification describes; objects that only a user can make must be given."""
    space = spec.observation_space
    if spec.normalise and (isinstance(space, Discrete) or image_shape(space)):
        raise UserError(f"normalise: got observations {single_line(space)}, accepted: vectors")
    if spec.normalise and budget_rule(spec.settings) is not None:
        raise UserError(
            "normalise: got True with objective=static, accepted: False (a budget has its own scale)"
        )
    if spec.network == CUSTOM and (network is None or isinstance(network, str)):
        raise UserError("network: this model has one of its own, accepted: the function that makes it")
    if spec.optimiser == CUSTOM and (optimiser is None or isinstance(optimiser, str)):
        raise UserError("optimiser: this model has one of its own, accepted: the Optax transformation")
    return _make_agent(
        AGENTS.resolve(spec.agent),
        spec.settings,
        _SpaceKey(space),
        network if spec.network == CUSTOM else spec.network,
        optimiser if spec.optimiser == CUSTOM else spec.optimiser,
        int(spec.action_space.n),
        normalised=spec.normalise,
    )


class _SpaceKey:
    """A space that equals every space of the same kind, shape, dtype and bounds."""

    def __init__(self, space: ObservationSpace) -> None:
        self.space = space
        self._text = repr(space_to_json(space))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SpaceKey) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


@cached_program
def _make_agent(
    kind: AgentKind,
    settings: AgentConfig,
    space: _SpaceKey,
    network: Any,
    optimiser: Any,
    actions: int,
    *,
    normalised: bool,
) -> Agent:
    """The same agent for equal specifications, so that its programs are compiled once for all seeds."""
    architecture = architecture_for(space.space, network)
    agent = kind.make(settings, architecture, actions, optimiser)
    return normalise(agent, space.space.shape or ()) if normalised else agent


def space_to_json(space: ObservationSpace) -> dict[str, Any]:
    """A space's kind and numbers."""
    if isinstance(space, Discrete):
        return {"kind": "Discrete", "n": int(space.n), "start": int(space.start)}
    return {
        "kind": "Box",
        "shape": list(space.shape),
        "dtype": np.dtype(space.dtype).name,
        "low": _bounds_to_json(space.low),
        "high": _bounds_to_json(space.high),
    }


def space_from_json(found: Mapping[str, Any]) -> ObservationSpace:
    """The space that `space_to_json` described."""
    if found["kind"] == "Discrete":
        return Discrete(int(found["n"]), start=int(found["start"]))
    shape, dtype = tuple(map(int, found["shape"])), np.dtype(str(found["dtype"]))
    if found["kind"] != "Box" or dtype.kind not in "biuf":
        raise ValueError(f"a space {found['kind']} of {dtype}")
    if min(shape, default=0) < 0 or math.prod(shape) > MAX_OBSERVATION_SIZE:
        raise ValueError(f"a space of shape {shape}")
    low, high = (_bounds_from_json(found[side], shape, dtype) for side in ("low", "high"))
    return Box(low, high, shape, dtype.type)  # pyright: ignore[reportArgumentType]


def _bounds_to_json(bounds: NDArray[Any]) -> str | list[str]:
    """Bounds as text, which can express infinity; one text where all bounds are equal."""
    words = [repr(each) for each in bounds.reshape(-1).tolist()]
    return words[0] if words and len(set(words)) == 1 else words


def _bounds_from_json(found: str | list[str], shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    read = {"b": lambda word: word == "True", "i": int, "u": int}.get(dtype.kind, float)
    if isinstance(found, str):
        return np.full(shape, read(found), dtype)
    return np.array([read(word) for word in found], dtype).reshape(shape)
