"""Compiled programs of this process, kept by what they were made from.

Two models with equal settings share their programs, so that the second compiles nothing.
"""

import warnings
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

import jax

P = ParamSpec("P")
Program = TypeVar("Program")
Thing = TypeVar("Thing")

MAX_PROGRAMS = 512
"""Programs kept; an agent that trains and is evaluated has six."""


class ByIdentity(Generic[Thing]):
    """Makes an object that cannot be hashed a key: it equals itself alone."""

    def __init__(self, thing: Thing) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and self.thing is other.thing  # pyright: ignore[reportUnknownMemberType]

    def __hash__(self) -> int:
        return id(self.thing)


class ProgramCache:
    """Programs by their makers and arguments, the least recently used first."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._programs: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The program of this key, made if it is not here."""
        if key not in self._programs:
            self._programs[key] = make()
            if len(self._programs) > self.size:
                self._programs.popitem(last=False)
                warnings.warn(
                    f"more than {self.size} compiled programs are in use; the oldest is dropped, and is "
                    "compiled again when it is needed",
                    stacklevel=4,
                )
        self._programs.move_to_end(key)
        return self._programs[key]

    def __len__(self) -> int:
        return len(self._programs)

    def clear(self) -> None:
        """Drop all programs and free their memory."""
        self._programs.clear()


PROGRAMS = ProgramCache(MAX_PROGRAMS)
"""The one cache of this process."""


def cached_program(make: Callable[P, Program]) -> Callable[P, Program]:
    """Decorate a function that makes programs: equal arguments give the same programs, not compiled again.

    Arguments that cannot be hashed count as equal only if they are the same object. The precision that JAX
    computes in counts as an argument too, because agents hold arrays of it.
    """

    @wraps(make)
    def cached(*args: P.args, **kwargs: P.kwargs) -> Program:
        precision = jax.dtypes.canonicalize_dtype(float)
        named = tuple(sorted((name, _key(value)) for name, value in kwargs.items()))
        key = (make, tuple(map(_key, args)), named, precision)
        return PROGRAMS.get(key, lambda: make(*args, **kwargs))

    return cached


def _key(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return ByIdentity(value)
    return value
