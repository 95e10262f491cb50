"""Errors that a user can fix: one line that names the field, its value and what is accepted."""

import difflib
import operator
from collections.abc import Iterable
from typing import Any


class UserError(ValueError):
    """A mistake that the user can fix. Its text is one line and says how."""


class FaultyEnvironmentError(UserError):
    """An environment broke its contract. The text names it, the episode and the step."""


def require(name: str, value: object, accepted: bool, what: str) -> None:
    """Refuse a value unless it is accepted, and say what is."""
    if not accepted:
        raise UserError(f"{name}: got {value}, accepted: {what}")


def require_whole_number(name: str, value: Any, least: int | None = None) -> int:
    """Any kind of integer (NumPy's too) as Python's own; not smaller than `least`."""
    accepted = "whole numbers" if least is None else f"whole numbers from {least}"
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        raise UserError(f"{name}: got {value if number is not None else repr(value)}, accepted: {accepted}")
    return number


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The known word that is closest to a misspelt one, as the end of a sentence; empty if none is close."""
    close = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {close[0]}?" if close else ""
