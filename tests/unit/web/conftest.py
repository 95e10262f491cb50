"""A server of runs that hold nothing but their names, in this process."""

import json
import socket
import threading
from pathlib import Path

import pytest

from surefoot.web import connections
from surefoot.web.server import make_app

TOKEN = "the-token-of-the-test"
SECRET = "surefoot/Secret-v0"
"""The environment of the run: no answer to a hostile request may contain it."""
XSS = "<img src=x onerror=alert(1)>"


def make_run(path: Path, env: str = SECRET, lines: int = 3) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"env": env, "agent": "uadqn", "seed": 0, "steps": 10}))
    entries = [{"step": step, "rollout/ep_rew_mean": 0.5 * step} for step in range(lines)]
    (path / "metrics.jsonl").write_text("".join(json.dumps(each) + "\n" for each in entries))
    return path


class Served:
    """A server in a thread, and raw requests to it."""

    def __init__(self, home: Path, host: str | None = None) -> None:
        self.home = home
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.server = connections.make_server(make_app(home, TOKEN, host=host, selected="run"))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.listener]})
        self.thread.start()

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def send(self, raw: bytes) -> bytes:
        """All that comes back until the server closes, or a whole answer has come."""
        with self.connect() as connection:
            try:
                connection.sendall(raw)
                return whole_answer(connection)
            except (ConnectionError, TimeoutError):
                return b""

    def get(self, target: str, headers: dict[str, str] | None = None, method: str = "GET") -> bytes:
        given = {"Host": f"127.0.0.1:{self.port}", **(headers or {})}
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in given.items())]
        return self.send("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1", "replace"))

    def allowed(self, target: str) -> bytes:
        """The answer to a request with the token."""
        return self.get(target, {"Authorization": f"Bearer {TOKEN}"})

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)
        self.listener.close()


def whole_answer(connection: socket.socket) -> bytes:
    """What is received until the other side closes."""
    found = b""
    while piece := connection.recv(65_536):
        found += piece
        if len(found) > 4_000_000:
            break
    return found


def status_of(answer: bytes) -> int:
    """The status of an answer; 0 for a connection that was closed without one."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/") else 0


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server of one run, that waits for no one for long."""
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 1.0)
    monkeypatch.setattr(connections, "STALL_SECONDS", 1.0)
    make_run(tmp_path / "runs" / "run")
    make_run(tmp_path / "elsewhere", env="outside of the runs")
    started = Served(tmp_path / "runs")
    yield started
    started.close()
