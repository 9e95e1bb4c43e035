"""
The bytes of an upstream's event stream, cut between events and else left alone.

Nothing is decoded here that need not be: what passes is forwarded as it came.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

import orjson

from structguard.http import Response
from structguard.types import Api, as_mapping

DONE = b"data: [DONE]\n\n"
_ENDS = {
    "chat": re.compile(rb'\[DONE\]|"finish_reason":\s*"'),
    "responses": re.compile(rb'"response\.(?:completed|incomplete|failed)"'),
}
LIFECYCLE = re.compile(rb'"response\.(?:created|in_progress|queued|completed|incomplete|failed)"')
MAX_EVENT = 32 * 1024 * 1024  # bytes of one event; more is no event stream


class Blocks:
    """Whole events, several in one block, as the network brings them; `ended`: a terminal one came."""

    __slots__ = ("_api", "_held", "_pieces", "ended")

    def __init__(self, response: Response, api: Api) -> None:
        self._pieces: AsyncIterator[bytes] = response.aiter()
        self._held = b""
        self._api = api
        self.ended = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        """
        The next block.

        Raises:
            ExchangeFailed: the connection broke.
        """
        async for piece in self._pieces:
            data = self._held + piece if self._held else piece
            if b"\r" in data:
                data = self._without_returns(data)
            cut = data.rfind(b"\n\n") + 2
            if cut > 1:
                self._held = data[cut:]
                return self._seen(data[:cut])
            self._held = data
            if len(data) > MAX_EVENT:
                break
        if self._held.strip():
            rest, self._held = self._held, b""
            return self._seen(rest + b"\n\n")
        raise StopAsyncIteration

    def _without_returns(self, data: bytes) -> bytes:
        """CRLF and CR as LF; a CR at the very end waits for what follows it."""
        if data.endswith(b"\r"):
            return data[:-1].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + b"\r"
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _seen(self, block: bytes) -> bytes:
        if not self.ended and _ENDS[self._api].search(block):
            self.ended = True
        return block


def events_in(block: bytes) -> Iterator[tuple[bytes, dict[str, object] | None]]:
    """Each event of a block: its bytes, and its JSON object, None where it has none."""
    for event in block.split(b"\n\n"):
        if event:
            yield event + b"\n\n", _object(event)


def _object(event: bytes) -> dict[str, object] | None:
    lines = [line[5:].lstrip() for line in event.split(b"\n") if line.startswith(b"data:")]
    if not lines:
        return None
    try:
        value = as_mapping(orjson.loads(b"\n".join(lines)))
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def spoken(event: object, api: Api) -> bytes:
    """An event as bytes: named on the responses wire, bare on chat."""
    data = b"data: " + orjson.dumps(event) + b"\n\n"
    if api == "responses":
        kind = (as_mapping(event) or {}).get("type")
        return b"event: " + str(kind).encode() + b"\n" + data
    return data
