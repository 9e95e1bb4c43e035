"""What a bare proxy costs: raw ASGI on uvicorn in front of an aiohttp client, nothing looked at."""

from __future__ import annotations

import os
from typing import Any

import aiohttp
import orjson

UPSTREAM = os.environ.get("UPSTREAM", "")
_JSON = [(b"content-type", b"application/json")]
_SSE = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-cache")]
_session: list[aiohttp.ClientSession] = []


def session() -> aiohttp.ClientSession:
    """The one session, made when a loop runs."""
    if not _session:
        connector = aiohttp.TCPConnector(limit=0)
        _session.append(aiohttp.ClientSession(connector=connector, auto_decompress=False))
    return _session[0]


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Every POST goes on; a stream comes back block by block."""
    if scope["type"] == "lifespan":
        while (message := await receive())["type"] != "lifespan.shutdown":
            await send({"type": message["type"] + ".complete"})
        await send({"type": "lifespan.shutdown.complete"})
        return
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    stream = bool(orjson.loads(body).get("stream"))
    key = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
    headers = {"content-type": "application/json", "authorization": key.decode()}
    reply = await session().post(UPSTREAM + scope["path"], data=body, headers=headers)
    start = {"type": "http.response.start", "status": reply.status}
    if not stream or reply.status != 200:
        out = await reply.read()
        reply.release()
        length = (b"content-length", str(len(out)).encode())
        await send({**start, "headers": [*_JSON, length]})
        await send({"type": "http.response.body", "body": out})
        return
    await send({**start, "headers": _SSE})
    async for block in reply.content.iter_any():
        await send({"type": "http.response.body", "body": block, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
