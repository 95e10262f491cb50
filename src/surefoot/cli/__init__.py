"""The command `surefoot`."""

import io
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import FrameType

import tyro
from rich.console import Console

import surefoot
from surefoot.cli.compilation_cache import keep_compiled_programs
from surefoot.cli.exit_codes import INTERRUPTED, MISUSE, OK
from surefoot.cli.messages import errors_as_one_line
from surefoot.system.memory import limit_malloc_arenas
from surefoot.errors import UserError

DESCRIPTION = (
    "Reinforcement learning agents that know what they have not learned yet, "
    "and what can never be known in advance. surefoot --version tells the version."
)


def main() -> None:
    """Run the command and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that knows no ± is no reason to fail after the work.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    signal.signal(signal.SIGTERM, _terminate)
    limit_malloc_arenas()
    keep_compiled_programs()
    sys.exit(run(sys.argv[1:]))


def _terminate(number: int, frame: FrameType | None) -> None:
    """Leave in order, closing what is open."""
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
        sys.stderr.write(f"surefoot: {error}\n")
        return MISUSE
    except KeyboardInterrupt:
        sys.stderr.write("surefoot: interrupted\n")
        return INTERRUPTED


COMMANDS = {
    "train": "Train an agent in an environment.",
    "evaluate": "Play episodes with a trained agent.",
    "runs": "List runs.",
    "sweep": "Carry out many runs: a plan.",
    "reproduce": "Repeat an experiment of the paper and judge its claims.",
    "bench": "Measure speed, ours beside its peers'.",
}
"""Each is a module here with a `commands(args)`; only the one that is named is imported, to start fast."""


def _parse(args: Sequence[str]) -> Callable[[], int]:
    """The command that the arguments name, ready to run."""
    commands = tyro.extras.SubcommandApp()
    for name, words in COMMANDS.items():
        found = import_module(f"surefoot.cli.{name}").commands(args) if args[:1] == [name] else _other
        if isinstance(found, tyro.extras.SubcommandApp):
            commands.command(found, name=name, help=words)
        else:
            commands.command(name=name, help=words)(found)
    with errors_as_one_line(args):
        return commands.cli(
            args=args,
            prog="surefoot",
            description=DESCRIPTION,
            config=(tyro.conf.FlagCreatePairsOff,),
        )


def _other() -> Callable[[], int]:
    """Stands for a command that is not the one named."""
    raise AssertionError("not the command that was named")
