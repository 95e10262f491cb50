"""Short pieces of text for messages, and numbers as JSON has them."""

import math


def error_line(error: BaseException) -> str:
    """The type of an error and the first line of its message."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def single_line(thing: object) -> str:
    """The text of an object with all white space, line breaks too, as single spaces."""
    return " ".join(str(thing).split())


def finite_or_none(number: float) -> float | None:
    """A number, or None (null in JSON) for NaN and infinities, which JSON does not have."""
    return number if math.isfinite(number) else None
