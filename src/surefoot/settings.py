"""Frozen dataclasses of settings that check every field by its type and its bounds.

A part of an agent that is chosen by name (its posterior, its explorer) has a settings class of its own.
`with_components` merges it into the agent's, so that all settings of a model are one flat object.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, make_dataclass
from functools import cache
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from surefoot.errors import UserError, did_you_mean, require
from surefoot.registry import Registry

RESERVED_NAMES = frozenset(
    {
        *("agent", "attached", "checkpoint_every", "core", "driver", "env", "env_kwargs", "eval_episodes"),
        *("eval_every", "if_disk_full", "log_every", "network", "normalise", "optimiser", "out", "preset"),
        *("probe", "resume", "risk_aversion", "seed", "steps"),
    }
)
"""Arguments of a model and of its training, which no component's settings may be called."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings whose fields are checked when they are made."""

    def __post_init__(self) -> None:
        """Validate."""
        hints = _hints(type(self))
        for each in fields(self):
            value = coerce(each.name, getattr(self, each.name), hints[each.name])
            object.__setattr__(self, each.name, value)
            for check in (each.metadata.get("bounds"), each.metadata.get("check")):
                if check is not None:
                    check(each.name, value)


def bounded(
    default: float,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Any:
    """A numeric field with a default and bounds."""
    low = f"above {above:g}" if above is not None else "" if at_least is None else f"from {at_least:g}"
    words = f"numbers {low}" + ("" if at_most is None else f" to {at_most:g}")

    def check(name: str, value: float) -> None:
        fits = (
            (above is None or value > above)
            and (at_least is None or value >= at_least)
            and (at_most is None or value <= at_most)
        )
        require(name, value, fits, words)

    return field(default=default, metadata={"bounds": check})


def checked(default: Any, check: Callable[[str, Any], None]) -> Any:
    """A field whose value is checked by a function of its name and the value."""
    return field(default=default, metadata={"check": check})


def component(default: str, registry: Registry[Any]) -> Any:
    """A field that names an entry of a registry; the entry's own settings join those of the class."""
    return field(default=default, metadata={"registry": registry})


def coerce(name: str, value: Any, kind: Any) -> Any:
    """A value as the type that its field declares; NumPy's own numbers become Python's."""
    plain = value.item() if isinstance(value, np.generic) else value
    if get_origin(kind) is Literal:
        require(name, value, plain in get_args(kind), ", ".join(map(str, get_args(kind))))
    elif kind is bool:
        require(name, repr(value), isinstance(plain, bool), "True or False")
    elif kind is int:
        require(name, repr(value), isinstance(plain, int) and not isinstance(plain, bool), "whole numbers")
    elif kind is float:
        is_number = isinstance(plain, int | float) and not isinstance(plain, bool)
        require(name, repr(value), is_number, "numbers")
        require(name, value, math.isfinite(plain), "finite numbers")
    elif kind is str:
        require(name, repr(value), isinstance(plain, str), "text")
    return plain


def build(config: type[Settings], values: Mapping[str, Any]) -> Any:
    """Settings of this class with these values, each as the type that its field declares."""
    hints = _hints(config)
    return config(**{name: coerce(name, value, hints[name]) for name, value in values.items()})


def with_components(config: type[Settings], values: Mapping[str, Any]) -> type[Settings]:
    """The settings class with those of its components, which `values` may name, merged into it."""
    parts = tuple(
        registry.resolve(coerce(each.name, values.get(each.name, each.default), str)).config
        for each in fields(config)
        if (registry := each.metadata.get("registry")) is not None
    )
    return _merged(config, parts)


@cache
def _merged(config: type[Settings], parts: tuple[type[Settings], ...]) -> type[Settings]:
    """One class for equal parts, so that equal settings are equal objects."""
    new = tuple(part for part in dict.fromkeys(parts) if not issubclass(config, part))
    if not new:
        return config
    taken = RESERVED_NAMES | {each.name for each in fields(config)}
    for part in new:
        for each in fields(part):
            if each.name in taken:
                raise UserError(
                    f"{part.__module__}: its setting {each.name} has a name that is taken already"
                )
        taken |= {each.name for each in fields(part)}
    # The last base comes first in help and in files.
    return make_dataclass(config.__name__, [], bases=(*reversed(new), config), frozen=True, kw_only=True)


def require_known(owner: str, names: Mapping[str, Any], config: type[Settings]) -> None:
    """Refuse names that are no fields of the settings."""
    known = {each.name for each in fields(config)}
    for name in names:
        if name not in known:
            accepted = ", ".join(sorted(known))
            raise UserError(f"{name}: no setting of {owner}, accepted: {accepted}{did_you_mean(name, known)}")


@cache
def _hints(config: type[Settings]) -> dict[str, Any]:
    return get_type_hints(config)
