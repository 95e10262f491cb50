"""The server of the page: runs, episodes and news of training as JSON, for one user on this machine."""

import asyncio
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from surefoot.errors import UserError
from surefoot.text import error_line
from surefoot.web.episode import MAX_STEPS
from surefoot.web.live import MAX_WATCHED, news
from surefoot.web.page_files import page_files
from surefoot.web.run_reader import RunReader
from surefoot.web.security import Guard
from surefoot.web.watched_model import WatchedModels

MAX_STREAMS = 24
"""Pages that may listen at once."""
MAX_WAITING = 16
"""Questions about episodes that may wait for their turn; only one is answered at a time."""
MAX_COUNT = 128
"""Steps of an episode in one answer."""
MAX_SEED = 2**31 - 1


def make_app(runs: Path, token: str, *, host: str | None = None, selected: str = "") -> ASGIApp:
    """The application; every answer needs the token.

    Args:
        runs: The directory of the runs; nothing outside of it is read.
        token: The token of this server.
        host: Where it listens, if not on loopback alone.
        selected: The run that the page shows at first.
    """
    return Guard(Starlette(routes=_Server(RunReader(runs), selected).routes()), token, host)


class _Server:
    """The answers to the page's questions."""

    def __init__(self, reader: RunReader, selected: str) -> None:
        self._reader, self._selected = reader, selected
        self._models, self._pages = WatchedModels(), page_files()
        # One thread: an environment and its episodes are not shared.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="episodes")
        self._waiting = self._streams = 0

    def routes(self) -> list[Route]:
        """All addresses; every one of them only reads."""
        answers: dict[str, Callable[[Request], Any]] = {
            "/": self._index,
            "/page/{name}": self._page,
            "/api/runs": self._runs,
            "/api/model": self._model,
            "/api/episode": self._episode,
            "/api/news": self._news,
        }
        return [Route(path, _answering(answer), methods=["GET"]) for path, answer in answers.items()]

    async def _index(self, _request: Request) -> Response:
        data, kind = self._pages["index.html"]
        return Response(data, media_type=kind)

    async def _page(self, request: Request) -> Response:
        found = self._pages.get(request.path_params["name"])
        return _problem(404, "no such file") if found is None else Response(found[0], media_type=found[1])

    async def _runs(self, _request: Request) -> Response:
        found = await asyncio.to_thread(self._reader.summaries)
        names = [each["name"] for each in found]
        return JSONResponse({"runs": found, "selected": self._selected if self._selected in names else ""})

    async def _model(self, request: Request) -> Response:
        checkpoint = self._checkpoint(request)
        found = await self._in_turn(lambda: self._models.get(checkpoint).describe())
        return JSONResponse({**found, "checkpoint": checkpoint.name})

    async def _episode(self, request: Request) -> Response:
        query, checkpoint = request.query_params, self._checkpoint(request)
        seed, first = _number(query, "seed", 0, MAX_SEED), _number(query, "from", 0, MAX_SEED)
        count = _number(query, "count", 1, MAX_COUNT)
        given = _actions(query.get("actions", ""))
        risk, estimator = query.get("risk", ""), query.get("estimator", "own")
        exploration = _decimal(query, "exploration")

        def answer() -> list[dict[str, Any]]:
            model = self._models.get(checkpoint)
            attitude = model.attitude(risk, exploration, estimator)
            return model.episode(seed, given, attitude, first, count)

        return JSONResponse({"steps": await self._in_turn(answer)})

    async def _news(self, request: Request) -> Response:
        names = request.query_params.getlist("run")[:MAX_WATCHED]
        for name in names:
            self._reader.path(name)
        if self._streams >= MAX_STREAMS:
            return _problem(429, "too many pages listen")

        async def counted() -> AsyncIterator[str]:
            self._streams += 1
            try:
                async for event in news(self._reader, names):
                    yield event
            finally:
                self._streams -= 1

        return StreamingResponse(counted(), media_type="text/event-stream")

    def _checkpoint(self, request: Request) -> Path:
        query = request.query_params
        return self._reader.checkpoint(query.get("run", ""), query.get("checkpoint", ""))

    async def _in_turn(self, answer: Callable[[], Any]) -> Any:
        """The answer of a function that computes; one is computed after the other."""
        if self._waiting >= MAX_WAITING:
            raise _BusyError
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, answer)
        finally:
            self._waiting -= 1


class _BusyError(Exception):
    """Too many questions wait already."""


def _answering(answer: Callable[[Request], Any]) -> Callable[[Request], Any]:
    """An answer whose failure is a line of text, never a traceback."""

    async def endpoint(request: Request) -> Response:
        try:
            return await answer(request)
        except UserError as error:
            return _problem(400, str(error))
        except _BusyError:
            return _problem(429, "busy")
        except Exception as error:
            # A user's environment or network may raise anything; its message is for the user to read.
            return _problem(422, error_line(error))

    return endpoint


def _problem(status: int, text: str) -> Response:
    return JSONResponse({"error": text[:1_000]}, status)


def _number(query: Any, name: str, low: int, high: int) -> int:
    text = query.get(name, str(low))
    if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
        raise UserError(f"{name}: got {text[:20]}, accepted: whole numbers from {low} to {high}")
    return int(text)


def _decimal(query: Any, name: str) -> float:
    text = query.get(name, "0")
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{name}: got {text[:20]}, accepted: a number") from None


def _actions(text: str) -> list[int]:
    """Actions in a row: runs of one action, such as `1x3.0` for three times action 1 and once action 0."""
    given: list[int] = []
    for word in text.split(".") if text else []:
        action, _, times = word.partition("x")
        if not all(each.isascii() and each.isdigit() and len(each) < 6 for each in (action, times or "1")):
            raise UserError(f"actions: got {word[:20]}, accepted: numbers such as 1x3.0")
        given += [int(action)] * int(times or "1")
        if len(given) > MAX_STEPS:
            raise UserError(f"actions: got too many, accepted: at most {MAX_STEPS:,}")
    return given
