"""Signals: the first asks to stop in order, the second stops at once."""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Request:
    """Whether a signal has asked to stop, and which."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.signal is not None


@contextmanager
def graceful_stop() -> Generator[Request]:
    """While inside, an interruption is a request; outside of the main thread nothing changes."""
    request = Request()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        again = request.signal is not None
        request.signal = number
        if again:
            exit_as_signalled(request)

    before: dict[int, Any] = {number: signal.signal(number, handle) for number in SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop_if_parent_dies() -> None:
    """Ask this process to stop in order when nobody holds the other end of its standard input any more."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def exit_as_signalled(request: Request) -> None:
    """After order is made, stop as the signal would have had it."""
    if request.signal == signal.SIGINT:
        raise KeyboardInterrupt
    if request.signal is not None:
        raise SystemExit(128 + request.signal)
