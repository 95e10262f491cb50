"""Messages of the command: what is wrong with its arguments, in one line, and warnings as lines."""

import contextlib
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from tyro import _errors as events

from surefoot.errors import UserError, did_you_mean
from surefoot.text import single_line


def flag_of(field: str) -> str:
    """The command-line flag of a field."""
    return "--" + field.replace("_", "-")


def flags_of(function: Callable[..., Any]) -> list[str]:
    """All flags of a command, given the function that tyro makes it from."""
    hints, found = get_type_hints(function), list[str]()
    for name in inspect.signature(function).parameters:
        kind = hints.get(name)
        found += [each.name for each in fields(kind)] if is_dataclass(kind) else [name]
    return [*map(flag_of, found), "--help"]


@contextlib.contextmanager
def errors_as_one_line(known_flags: Iterable[str]) -> Generator[None]:
    """While tyro parses inside, arguments that it refuses raise a `UserError` of one line."""

    def refuse(event: events.ParseErrorEvent) -> None:
        explained = _explained(event, list(known_flags))
        if explained is not None:
            raise UserError(single_line(explained))

    with events.on_parse_error(refuse):
        yield


def _explained(event: Any, known_flags: Sequence[str]) -> str | None:
    """What is wrong; None for kinds of errors that this version does not know, which tyro then shows."""
    match event:
        case events.MissingArgs():
            return ", ".join(_name(each.arg) for each in event.missing_arguments) + ": not given"
        case events.MissingSubcommand():
            names = list(event.subcommand_spec.parser_from_name)
            given = "nothing" if event.found_token is None else event.found_token
            return f"{event.prog}: got {given}, accepted: {', '.join(names)}{did_you_mean(given, names)}"
        case events.InvalidChoice():
            accepted = ", ".join(event.choices)
            return f"{_name(event.argument)}: got {event.value}, accepted: {accepted}"
        case events.BadValue():
            given = event.offending_value or "too few values"
            return f"{_name(event.argument)}: got {given}, accepted: {event.argument.lowered.metavar}"
        case events.UnrecognizedArgs():
            first = event.tokens[0].split("=")[0]
            tokens = " ".join(event.tokens)
            return f"{tokens}: not an argument of {event.prog}{did_you_mean(first, known_flags)}"
        case events.InstantiationFailure() if event.argument is not None:
            accepted = event.argument.lowered.metavar
            return f"{_name(event.argument)}: {event.message}, accepted: {accepted}"
        case events.InstantiationFailure():
            return str(event.message)
        case _:
            return None


def _name(argument: Any) -> str:
    """An argument's flag, or the name that stands for a positional one."""
    flags = argument.lowered.name_or_flags
    return str(argument.lowered.metavar) if argument.is_positional() else str(flags[0])


def with_flag(message: str, args: Sequence[str]) -> str:
    """A message of the library that begins with a field's name, with the flag that set it instead."""
    found = re.match(r"([a-z][a-z0-9_]*):", message)
    given = {arg.split("=")[0].replace("_", "-") for arg in args}
    if found is None or flag_of(found[1]) not in given:
        return message
    return flag_of(found[1]) + message[len(found[1]) :]


def require_one_risk(risk: str | None, risk_aversion: float | None) -> None:
    """Refuse the two flags for an attitude to risk together."""
    if risk is not None and risk_aversion is not None:
        raise UserError(f"--risk: got {risk} and --risk-aversion {risk_aversion:g}, accepted: one of the two")


@contextlib.contextmanager
def warnings_as_lines() -> Generator[None]:
    """While inside, a warning is one line on standard error, and shown each time."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        sys.stderr.write(f"surefoot: {single_line(message)}\n")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
