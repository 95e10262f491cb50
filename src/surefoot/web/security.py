"""Who may ask, and what: every request passes here before anything is read.

A page of another site that is open in the same browser can send requests to this server, too: with a name of
its own that it has made to mean this machine (DNS rebinding), or blindly across sites. The first has the
wrong Host, the second the wrong Origin, and neither knows the token.
"""

import ipaddress
import secrets
import time
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl

from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_TARGET_BYTES = 12_000
"""Length of an address: the actions of an episode of some thousand steps."""
MAX_HEADER_BYTES = 16_384
RATE, BURST = 100.0, 300.0
"""Requests a second in the long run, and at once."""
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


def new_token() -> str:
    """A token that cannot be guessed."""
    return secrets.token_urlsafe(24)


class Guard:
    """Lets through what a page of this server sent that knows the token, and refuses everything else."""

    def __init__(self, app: ASGIApp, token: str, host: str | None = None) -> None:
        """Guard an application.

        Args:
            app: What is guarded.
            token: What a request must have in its address (for the page), its cookie or its header.
            host: The name or address that the server was told to listen at, if it is not loopback's.
        """
        self._app, self._token, self._host = app, token.encode(), host
        self._allowance, self._last = BURST, time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            return
        refused = self._refusal(scope)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = dict(HEADERS)
                if refused is None and self._knows(_query(scope).get("token", "")):
                    extra["set-cookie"] = (
                        f"{_cookie_name(scope)}={self._token.decode()}; Path=/; HttpOnly; SameSite=Strict"
                    )
                added = [(name.encode(), value.encode()) for name, value in extra.items()]
                kept = [pair for pair in message["headers"] if pair[0].decode("latin-1") not in extra]
                message = {**message, "headers": [*kept, *added]}
            await send(message)

        await (refused or self._app)(scope, receive, send_safely)

    def _refusal(self, scope: Scope) -> Response | None:
        """The answer to a request that is refused; None for one that is not."""
        headers = _headers(scope)
        target = len(scope.get("raw_path", b"")) + len(scope.get("query_string", b""))
        if not self._is_within_rate():
            return _refuse(429, "too many requests", {"retry-after": "1"})
        if scope["method"] not in {"GET", "HEAD"}:
            return _refuse(405, "this server only reads", {"allow": "GET, HEAD"})
        if target > MAX_TARGET_BYTES:
            return _refuse(414, "the address is too long")
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MAX_HEADER_BYTES:
            return _refuse(431, "the headers are too long")
        if headers.get("content-length", ["0"]) != ["0"] or "transfer-encoding" in headers:
            return _refuse(413, "a request has no body here")
        host = headers.get("host", [])
        if len(host) != 1 or not self._is_own_name(host[0], scope):
            return _refuse(403, "Host: not this server")
        if any(origin != f"http://{host[0]}" for origin in headers.get("origin", [])):
            return _refuse(403, "Origin: another site")
        if not _is_from_here(headers, scope["path"]):
            return _refuse(403, "another site")
        if not any(map(self._knows, _tokens(scope, headers))):
            return _refuse(401, "open the address that surefoot watch printed: it has the token")
        return None

    def _is_within_rate(self) -> bool:
        """Whether one more request fits; the allowance grows with time up to `BURST`."""
        now = time.monotonic()
        self._allowance = min(BURST, self._allowance + (now - self._last) * RATE)
        self._last = now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True

    def _is_own_name(self, host: str, scope: Scope) -> bool:
        """Whether a Host header names this server.

        An attacker can make a name mean this machine, but not an address: a page at an address is from there.
        """
        name, separator, port = host.lower().rpartition(":")
        server = scope.get("server")
        if not separator or server is None or port != str(server[1]):
            return False
        if name in LOOPBACK_NAMES:
            return True
        return self._host is not None and (name == self._host.lower() or _is_address(name))

    def _knows(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="replace"), self._token)


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _is_from_here(headers: dict[str, list[str]], path: str) -> bool:
    """Whether a browser says that this page asks, or that the user opened the page's address."""
    site = headers.get("sec-fetch-site", ["none"])[0]
    if site in {"same-origin", "none"}:
        return True
    return path == "/" and headers.get("sec-fetch-mode", [""])[0] == "navigate"


def _tokens(scope: Scope, headers: dict[str, list[str]]) -> Iterable[str]:
    """The tokens that a request has; in the address only that of the page counts."""
    if scope["path"] == "/":
        yield _query(scope).get("token", "")
    for each in headers.get("authorization", []):
        kind, _, given = each.partition(" ")
        if kind.lower() == "bearer":
            yield given
    for each in headers.get("cookie", []):
        try:
            morsel = SimpleCookie(each).get(_cookie_name(scope))
        except CookieError:
            continue
        if morsel is not None:
            yield morsel.value


def _query(scope: Scope) -> dict[str, str]:
    try:
        return dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), max_num_fields=32))
    except ValueError:
        return {}


def _cookie_name(scope: Scope) -> str:
    """Servers at different ports of a machine share its cookies, so that each needs a name of its own."""
    server: Any = scope.get("server") or ("", 0)
    return f"surefoot-{server[1]}"


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _refuse(status: int, why: str, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(f"surefoot watch: {why}\n", status, headers)
