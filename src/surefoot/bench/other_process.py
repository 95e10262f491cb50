"""Contenders that run in processes of their own: libraries in other environments, and other revisions."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from surefoot.bench import worker
from surefoot.bench.timing import Contender
from surefoot.errors import UserError, require
from surefoot.text import single_line


def contender(
    name: str,
    program: str,
    settings: Mapping[str, Any],
    *,
    python: Path | None = None,
    variables: Mapping[str, str] | None = None,
) -> Contender:
    """A program of `worker.py` in another process, which inherits the core; it ends with this one.

    `python` is the interpreter of its environment, this one's by default; `variables` are environment
    variables to be added.
    """
    # -P: the directory of the script is not searched for modules.
    command = [str(python or sys.executable), "-P", worker.__file__, program, json.dumps(settings)]
    errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (it is open for as long as the process lives)
    process = subprocess.Popen(
        command,
        env={**os.environ, **(variables or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )
    requests, answers = process.stdin, process.stdout
    assert requests is not None
    assert answers is not None

    def await_answer() -> None:
        if not answers.readline():
            process.communicate()
            with errors:
                raise UserError(f"bench: {name} failed ({_last_line(errors)})")

    def make_steps(count: int) -> None:
        with suppress(BrokenPipeError):  # A process that has died does not answer either.
            requests.write(f"{count}\n")
            requests.flush()
        await_answer()

    await_answer()
    return Contender(name, make_steps)


def compiled_agent(agent: str, checkout: Path | None = None) -> Contender:
    """An agent on MinAtar Breakout, of this revision or of another checkout of Surefoot."""
    if checkout is None:
        return contender(f"{agent}, compiled", "surefoot", {"agent": agent})
    variables = {"PYTHONPATH": str(sources_of(checkout))}
    return contender(f"{agent}, before", "surefoot", {"agent": agent}, variables=variables)


def sources_of(checkout: Path) -> Path:
    """The directory of a checkout that is put on Python's path; refuses what is no checkout of Surefoot."""
    sources = (checkout / "src").resolve()
    require("before", checkout, (sources / "surefoot" / "bench").is_dir(), "a checkout of Surefoot")
    return sources


def _last_line(errors: IO[str]) -> str:
    errors.seek(0)
    lines = errors.read().strip().splitlines()
    return single_line(lines[-1]) if lines else "without a message"
