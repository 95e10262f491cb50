"""Connections that are bounded in number and in patience, so that slow or silent ones cost nothing.

uvicorn waits for the first request of a connection and for a reader of an answer as long as they like.
"""

import asyncio
from typing import Any, ClassVar

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 96
"""Connections at once; further ones are closed."""
REQUEST_SECONDS = 10.0
"""How long a request's first line and headers may take."""
STALL_SECONDS = 20.0
"""How long an answer may wait for its reader to take anything."""
MAX_HEADER_BYTES = 32_768


def make_server(app: ASGIApp) -> uvicorn.Server:
    """A server of an application, with bounded connections and without WebSockets."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=BoundedConnection,
            ws="none",
            lifespan="off",
            log_level="critical",
            access_log=False,
            server_header=False,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            timeout_keep_alive=5,
            timeout_graceful_shutdown=1,
        )
    )


class BoundedConnection(H11Protocol):
    """An HTTP connection that is closed if it is one too many, or sends or takes nothing for too long."""

    open_connections: ClassVar[int] = 0

    def connection_made(self, transport: Any) -> None:
        """Count the connection, or close it."""
        self._deadlines: dict[str, asyncio.TimerHandle] = {}
        self._counted = BoundedConnection.open_connections < MAX_CONNECTIONS
        if not self._counted:
            transport.abort()
            return
        BoundedConnection.open_connections += 1
        super().connection_made(transport)
        self._set_deadline("request", REQUEST_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        """Make room for another connection."""
        for kind in list(self._deadlines):
            self._lift_deadline(kind)
        if self._counted:
            BoundedConnection.open_connections -= 1
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read a piece of a request."""
        if not self._counted:
            return
        super().data_received(data)
        # uvicorn has a cycle that is not complete as soon as it has a whole request.
        cycle: Any = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._lift_deadline("request")
        elif "request" not in self._deadlines:
            self._set_deadline("request", REQUEST_SECONDS)

    def pause_writing(self) -> None:
        """Wait for the reader, who has not taken what was sent."""
        super().pause_writing()
        self._set_deadline("reader", STALL_SECONDS)

    def resume_writing(self) -> None:
        """Go on: the reader took something."""
        super().resume_writing()
        self._lift_deadline("reader")

    def _set_deadline(self, kind: str, seconds: float) -> None:
        self._lift_deadline(kind)
        self._deadlines[kind] = self.loop.call_later(seconds, self.transport.abort)

    def _lift_deadline(self, kind: str) -> None:
        if kind in self._deadlines:
            self._deadlines.pop(kind).cancel()
