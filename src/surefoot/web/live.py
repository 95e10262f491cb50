"""News of runs while they are trained, as server-sent events: new entries of their logs, new checkpoints."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from surefoot.web.run_reader import RunReader, checkpoints, entries, log_size, series

POLL_SECONDS = 1.0
"""Time between two looks at the files."""
HEARTBEAT_SECONDS = 15.0
"""Time after which a silent stream says that it is alive."""
MAX_STREAM_SECONDS = 3_600.0
"""A stream ends after this; a page that still listens opens another."""
MAX_WATCHED = 12
"""Runs that one stream follows."""


async def news(reader: RunReader, names: list[str]) -> AsyncIterator[str]:
    """Events: first all that is in the logs, then what is added to them."""
    paths = {name: reader.path(name) for name in names}
    ends = dict.fromkeys(names, 0)
    known: dict[str, list[str]] = {}
    silent = 0.0
    yield "retry: 2000\n\n"
    for turn in range(int(MAX_STREAM_SECONDS / POLL_SECONDS)):
        for name, path in paths.items():
            is_shorter = log_size(path) < ends[name]
            found = await asyncio.to_thread(entries, path, 0 if is_shorter else ends[name])
            ends[name] = found.end
            if found.lines or is_shorter or turn == 0:
                silent = 0.0
                fresh = is_shorter or turn == 0
                step = int(found.lines[-1]["step"]) if found.lines else None
                yield _event(
                    "entries", {"run": name, "fresh": fresh, "step": step, "series": series(found.lines)}
                )
            now = checkpoints(path)
            if known.get(name) != now:
                known[name] = now
                yield _event("checkpoints", {"run": name, "checkpoints": now})
        await asyncio.sleep(POLL_SECONDS)
        silent += POLL_SECONDS
        if silent >= HEARTBEAT_SECONDS:
            silent = 0.0
            yield ": still here\n\n"


def _event(kind: str, data: dict[str, Any]) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
