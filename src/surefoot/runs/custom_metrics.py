"""User probes: numbers of a user's own in a run's log, from a function that is called with the model."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from surefoot.errors import UserError
from surefoot.registry import import_object
from surefoot.text import single_line

Probe = Callable[[Any], Mapping[str, float]]
"""From a model to numbers by name."""


def resolve_probe(path: Any) -> Probe:
    """The function that `package.module:function` names; a run that is resumed finds it by this name."""
    function = import_object("probe", path, "package.module:function, importable")
    if not callable(function):
        raise UserError(f"probe: got {path}, accepted: a function of a model")

    def probe(model: Any) -> dict[str, float]:
        found: Any = function(model)
        try:
            return {str(name): float(np.asarray(value)) for name, value in found.items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise UserError(
                f"probe: {path} returned {single_line(found)}, accepted: numbers by name"
            ) from error

    return probe
