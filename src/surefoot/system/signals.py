"""SIGINT and SIGTERM: the first signal requests a graceful stop, the second stops at once."""

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class StopRequest:
    """Whether a signal has requested a stop, and its number."""

    def __init__(self) -> None:
        self.signal: int | None = None

    def __call__(self) -> bool:
        """Whether a stop is requested."""
        return self.signal is not None


@contextmanager
def graceful_stop() -> Generator[StopRequest]:
    """While the block runs, the first signal only sets the request.

    Outside the main thread this changes nothing, because Python handles signals in the main thread alone.
    """
    request = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield request
        return

    def handle(number: int, frame: FrameType | None) -> None:
        del frame
        again = request.signal is not None
        request.signal = number
        if again:
            exit_as_signalled(request)

    before: dict[int, Any] = {number: signal.signal(number, handle) for number in STOP_SIGNALS}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop_if_parent_dies() -> None:
    """Send this process SIGTERM when its standard input is closed, which it is when its parent dies."""

    def watch() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def exit_as_signalled(request: StopRequest) -> None:
    """After a graceful stop, exit as the signal would have made the process exit without it."""
    if request.signal == signal.SIGINT:
        raise KeyboardInterrupt
    if request.signal is not None:
        raise SystemExit(128 + request.signal)
