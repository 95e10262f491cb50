"""Connections that are bounded in number and in patience, so that slow or silent ones cost nothing.

uvicorn waits for the first request of a connection and for a reader of an answer as long as they like.
"""

import asyncio
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 96
"""Connections at once; further ones are closed."""
REQUEST_SECONDS = 10.0
"""How long a request's first line and headers may take."""
STALL_SECONDS = 20.0
"""How long an answer may wait for its reader to take anything."""


class BoundedConnection(H11Protocol):
    """An HTTP connection that is closed if it is one too many, or sends or takes nothing for too long."""

    open_connections: ClassVar[int] = 0

    def connection_made(self, transport: Any) -> None:
        """Count the connection, or close it."""
        self._counted = BoundedConnection.open_connections < MAX_CONNECTIONS
        self._timer: asyncio.TimerHandle | None = None
        if not self._counted:
            transport.abort()
            return
        BoundedConnection.open_connections += 1
        super().connection_made(transport)
        self._wait_for(REQUEST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room for another connection."""
        self._stop_waiting()
        if self._counted:
            BoundedConnection.open_connections -= 1
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a piece of a request."""
        if not self._counted:
            return
        super().data_received(data)
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._stop_waiting()

    def on_response_complete(self) -> None:
        """Wait for the next request; uvicorn closes a connection that has been idle for its own time."""
        super().on_response_complete()
        self._stop_waiting()

    def pause_writing(self) -> None:
        """Wait for the reader, who has not taken what was sent."""
        super().pause_writing()
        self._wait_for(STALL_SECONDS)

    def resume_writing(self) -> None:
        """Go on: the reader took something."""
        super().resume_writing()
        self._stop_waiting()

    def _wait_for(self, seconds: float) -> None:
        self._stop_waiting()
        self._timer = self.loop.call_later(seconds, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
