"""A user's own numbers in a run's log: a function that looks at the model, known by its name."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, cast

import numpy as np

from surefoot.types import UserError, one_line, words

Probe = Callable[[Any], Mapping[str, float]]
"""Looks at a model."""


def probe_of(title: str) -> Probe:
    """The function that `package.module:function` names. Its name is what a run that goes on knows it by."""
    module, _, function = title.partition(":")
    try:
        found: Any = getattr(import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(
            f"probe: got {title} ({one_line(error)}), accepted: package.module:function, importable"
        ) from error
    if not callable(found):
        raise UserError(f"probe: got {title}, accepted: a function of a model")

    def look(model: Any) -> dict[str, float]:
        seen: Any = cast("Probe", found)(model)
        try:
            return {str(name): float(np.asarray(value)) for name, value in seen.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise UserError(f"probe: {title} returned {words(seen)}, accepted: numbers by name") from error

    return look
