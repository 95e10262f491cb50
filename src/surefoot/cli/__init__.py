"""The command `surefoot`."""

import io
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from types import FrameType
from typing import Any

import tyro
from rich.console import Console

import surefoot
from surefoot.cli.compilation_cache import enable_compilation_cache
from surefoot.cli.exit_codes import INTERRUPTED, MISUSE, OK
from surefoot.cli.messages import errors_as_one_line, flags_of, with_flag
from surefoot.errors import UserError, did_you_mean
from surefoot.system.memory import limit_malloc_arenas

DESCRIPTION = (
    "Reinforcement learning agents that know what they have not learned yet, "
    "and what can never be known in advance. surefoot --version prints the version."
)


def main() -> None:
    """Run the command and exit with its code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character such as ± is no reason to fail after the work.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    signal.signal(signal.SIGTERM, _terminate)
    limit_malloc_arenas()
    enable_compilation_cache()
    sys.exit(run(sys.argv[1:]))


def _terminate(number: int, frame: FrameType | None) -> None:
    """Exit through the `finally` blocks, which close what is open."""
    del frame
    raise SystemExit(128 + number)


def run(args: list[str]) -> int:
    """Run the command; a user's mistake is one line on standard error."""
    if args[:1] == ["--version"]:
        Console().print(f"surefoot {surefoot.__version__}", highlight=False)
        return OK
    try:
        return _parse(args or ["--help"])()
    except UserError as error:
        sys.stderr.write(f"surefoot: {with_flag(str(error), args)}\n")
        return MISUSE
    except KeyboardInterrupt:
        sys.stderr.write("surefoot: interrupted\n")
        return INTERRUPTED


COMMANDS = {
    "train": "Train an agent in an environment, or resume a run that was stopped (--resume RUN).",
    "evaluate": "Play episodes with a trained agent.",
    "compare": "Compare groups of runs: scores with intervals, learning curves, and which are better.",
    "audit": "Compare what a trained agent believes with what happens, and judge its uncertainty.",
    "watch": "Show what an agent believes while it plays, as a page in the browser.",
    "runs": "List runs.",
    "sweep": "Train the many runs of a plan.",
    "reproduce": "Repeat an experiment of the paper and check its claims.",
    "bench": "Measure speed, compared with other libraries.",
}
"""Each is a module here with a `commands(args)`; only the one that is named is imported, to start fast."""


def _parse(args: Sequence[str]) -> Callable[[], int]:
    """The work that the arguments name, ready to run."""
    _require_name("command", args[:1], COMMANDS)
    app, flags = tyro.extras.SubcommandApp(), list[str]()
    for name, summary in COMMANDS.items():
        found: Any = _not_named
        if args[:1] == [name]:
            module = import_module(f"surefoot.cli.{name}")
            args = getattr(module, "normalised_arguments", list)(args)
            found = module.commands(args)
        if isinstance(found, dict):
            _require_name(name, args[1:2], found)
            nested = tyro.extras.SubcommandApp()
            for each, (command, nested_summary) in found.items():
                nested.command(name=each, help=nested_summary)(command)
                if args[1:2] == [each]:
                    flags = flags_of(command)
            app.command(nested, name=name, help=summary)
        else:
            app.command(name=name, help=summary)(found)
            flags = flags_of(found) if found is not _not_named else flags
    with errors_as_one_line(flags):
        return app.cli(
            args=args,
            prog="surefoot",
            description=DESCRIPTION,
            config=(tyro.conf.FlagCreatePairsOff,),
        )


def _require_name(command: str, given: Sequence[str], known: Iterable[str]) -> None:
    """Refuse a name that is not among the known ones; a flag such as --help is none."""
    names = list(known)
    if not given or (given[0] not in names and not given[0].startswith("-")):
        name = given[0] if given else "nothing"
        raise UserError(f"{command}: got {name}, accepted: {', '.join(names)}{did_you_mean(name, names)}")


def _not_named() -> Callable[[], int]:
    """Stands for a command that is not the one named."""
    raise AssertionError("not the command that was named")
