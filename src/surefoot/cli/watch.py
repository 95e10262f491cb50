"""`surefoot watch`."""

import os
import socket
import sys
import webbrowser
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import tyro

from surefoot.cli.exit_codes import OK
from surefoot.cli.messages import require_one_risk
from surefoot.cli.train import RUNS_DIRECTORY, import_from_working_directory
from surefoot.errors import UserError, require, require_whole_number
from surefoot.risk import risk_from
from surefoot.runs.directory import CONFIG

PORT = 8470
"""Where the page is, unless another program is there already."""
NICENESS = 10
"""How far this process stands back behind others, such as training."""


def commands(args: Sequence[str]) -> Callable[..., Callable[[], int]]:
    """The command."""
    del args
    return _command


def _command(
    run: Annotated[Path | None, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")] = None,
    host: str = "127.0.0.1",
    port: Annotated[int | None, tyro.conf.arg(metavar="INT")] = None,
    no_browser: bool = False,
    record: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    html: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None,
    seed: int = 0,
    risk: Annotated[str | None, tyro.conf.arg(metavar="RISK")] = None,
    risk_aversion: Annotated[float | None, tyro.conf.arg(metavar="LAMBDA")] = None,
    exploration: float = 0.0,
    max_steps: int = 500,
    speed: float = 4.0,
) -> Callable[[], int]:
    """Show what an agent believes while it plays, as a page in the browser.

    Args:
        run: A run's directory, or a directory with runs, of which the newest is shown; by default runs/.
        host: Where to listen: another address than 127.0.0.1 lets other machines in, if they know the token.
        port: The port; by default 8470, or a free one if that is taken.
        no_browser: Only print the address.
        record: Instead of the page, write an episode as a moving picture: .gif, or .mp4 with ffmpeg.
        html: Instead of the page, write one file that plays an episode offline, beliefs included.
        seed: Of a recording, the seed of the episode.
        risk: Of a recording, the attitude to risk; by default the agent's own.
        risk_aversion: Short for --risk mean-sd:LAMBDA.
        exploration: Of a recording, the strength of Thompson sampling (beta); 0 does not explore.
        max_steps: Of a recording, the steps after which it ends.
        speed: Of a moving picture, steps a second.
    """

    def watch() -> int:
        require_one_risk(risk, risk_aversion)
        import_from_working_directory()
        home, name = find_run(run or RUNS_DIRECTORY)
        if record is not None or html is not None:
            require("speed", speed, 0 < speed <= 100, "numbers above 0, up to 100")
            measure = risk_from(risk, risk_aversion)
            write(home, name, record, html, seed, (str(measure or ""), exploration), max_steps, speed)
            return OK
        _require_extra()
        _step_back()
        serve(home, name, host, port, open_browser=not no_browser)
        return OK

    return watch


def find_run(path: Path) -> tuple[Path, str]:
    """The directory of the runs that the page may read, and the name of the run that it begins with."""
    from surefoot.web.run_reader import newest_run

    path = path.resolve()
    if (path / CONFIG).is_file():
        return path.parent, path.name
    if not path.is_dir():
        raise UserError(f"RUN: got {path}, accepted: a run's directory, or one with runs (train makes them)")
    newest = newest_run(path)
    if newest is None:
        raise UserError(f"RUN: no run in {path}, accepted: a run's directory, or one with runs")
    return path, newest.relative_to(path).as_posix()


def write(
    home: Path,
    name: str,
    record: Path | None,
    html: Path | None,
    seed: int,
    attitude: tuple[str, float],
    max_steps: int,
    speed: float,
) -> None:
    """Write an episode of a run's newest model to files."""
    from surefoot.web import recording

    recorded = recording.record(home, name, require_whole_number("seed", seed, 0), attitude, max_steps)
    if record is not None:
        recording.write_moving_picture(recorded, record, speed)
    if html is not None:
        recording.write_html(recorded, html)
    for path in filter(None, (record, html)):
        sys.stdout.write(f"{path}: {len(recorded.steps) - 1} steps, {path.stat().st_size:,} bytes\n")


def serve(home: Path, name: str, host: str, port: int | None, *, open_browser: bool) -> None:
    """Serve the page until the process is interrupted."""
    from surefoot.web.connections import make_server
    from surefoot.web.security import new_token
    from surefoot.web.server import make_app

    token, listener = new_token(), listen_at(host, port)
    is_loopback = host in {"127.0.0.1", "localhost", "::1"}
    # All addresses of this machine have no name of their own.
    shown = socket.gethostname() if host in {"0.0.0.0", "::"} else host
    app = make_app(home, token, host=None if is_loopback else shown, selected=name)
    place = f"[{shown}]" if ":" in shown else shown
    address = f"http://{place}:{listener.getsockname()[1]}/?token={token}#run={quote(name, safe='')}"
    sys.stdout.write(f"{address}\n")
    sys.stdout.flush()
    if not is_loopback:
        sys.stderr.write("surefoot: other machines can read these runs with this address, unencrypted\n")
    if open_browser:
        webbrowser.open(address)
    make_server(app).run(sockets=[listener])


def listen_at(host: str, port: int | None) -> socket.socket:
    """A socket that listens, at a free port if none was asked for and the usual one is taken."""
    if port is not None:
        require("port", port, 0 <= port < 65_536, "numbers from 0 to 65535")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    if port is None:
        try:
            return socket.create_server((host, PORT), family=family)
        except OSError:
            port = 0
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        wrong = f"host: could not listen at {host}, port {port} ({error.strerror})"
        raise UserError(f"{wrong}, accepted: an address of this machine and a free port") from error


def _require_extra() -> None:
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise UserError(
            "watch: needs starlette and uvicorn, which are not installed: pip install 'surefoot[web]'"
        )


def _step_back() -> None:
    """Let training go first where both want the processor."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)
