"""tyro's messages as one line."""

import contextlib
import io
import os
import sys
import warnings
from collections.abc import Generator, Sequence
from itertools import groupby

from surefoot.cli.exit_codes import MISUSE
from surefoot.errors import UserError
from surefoot.text import single_line


@contextlib.contextmanager
def errors_as_one_line(args: Sequence[str]) -> Generator[None]:
    """While tyro parses inside, its complaints become a `UserError`."""
    messages = io.StringIO()
    try:
        with contextlib.redirect_stderr(messages), _wide_unless_help(args):
            yield
    except SystemExit as stop:
        if stop.code == MISUSE:
            raise UserError(_one_line(messages.getvalue())) from None
        raise


@contextlib.contextmanager
def warnings_as_lines() -> Generator[None]:
    """While inside, a warning is one line on standard error, and told each time."""

    def tell(message: Warning | str, *_: object, **__: object) -> None:
        sys.stderr.write(f"surefoot: {single_line(message)}\n")

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = tell
        yield


@contextlib.contextmanager
def _wide_unless_help(args: Sequence[str]) -> Generator[None]:
    """Let tyro's messages, from which one line is made, wrap at no width; help keeps the terminal's."""
    before = os.environ.get("COLUMNS")
    if not {"--help", "-h"} & set(args):
        os.environ["COLUMNS"] = "1000"
    try:
        yield
    finally:
        os.environ.pop("COLUMNS", None)
        if before is not None:
            os.environ["COLUMNS"] = before


def _one_line(box: str) -> str:
    """What tyro says is wrong and what it offers instead, out of the box that it draws around them."""
    _title, *lines = (line.strip("│╭╮╰╯|+ ") for line in box.strip().splitlines())
    parts = [list(part) for text, part in groupby(lines, lambda line: line.strip("─-") != "") if text]
    wrong, offer = parts[0], parts[1] if len(parts) > 1 else []
    # An offer is a line, or a heading and what it heads.
    offer = offer[: 2 if offer and offer[0].endswith(":") else 1]
    return "; ".join(" ".join(part).rstrip(".") for part in (wrong, offer) if part)
