"""
The bytes of an upstream's event stream, cut between events and else left alone.

Nothing is decoded here that need not be: what passes is forwarded as it came.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping

import orjson

from structguard.http import Response
from structguard.types import Api, as_mapping

DONE = b"data: [DONE]\n\n"
_ENDS: Mapping[Api, tuple[bytes, ...]] = {
    "chat": (b"[DONE]", b'"finish_reason":"', b'"finish_reason": "'),
    "responses": (b'"response.completed"', b'"response.incomplete"', b'"response.failed"'),
}
_RESOURCE = b'"response":'  # a key only events of the response itself have; in texts it is escaped
MAX_EVENT = 32 * 1024 * 1024  # bytes of one event; more is no event stream


class Blocks:
    """Whole events, several in one block, as the network brings them; `ended`: a terminal one came."""

    __slots__ = ("_ends", "_held", "_pieces", "ended")

    def __init__(self, response: Response, api: Api) -> None:
        self._pieces: AsyncIterator[bytes] = response.aiter()
        self._held = b""
        self._ends = _ENDS[api]
        self.ended: bool = False

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
        if not self.ended:
            self.ended = any(end in block for end in self._ends)
        return block


def around_resources(block: bytes) -> Iterator[tuple[bytes, bool]]:
    """A block in pieces: single events that carry the resource (True), and all between them."""
    at = 0
    while (found := block.find(_RESOURCE, at)) >= 0:
        gap = block.rfind(b"\n\n", at, found)
        start = at if gap < 0 else gap + 2
        end = block.find(b"\n\n", found)
        end = len(block) if end < 0 else end + 2
        if start > at:
            yield block[at:start], False
        yield block[start:end], True
        at = end
    if at < len(block):
        yield block[at:], False


def raw_events(block: bytes) -> Iterator[bytes]:
    """The events of a block, one after another, as bytes."""
    at = 0
    while at < len(block):
        end = block.find(b"\n\n", at)
        end = len(block) if end < 0 else end + 2
        yield block[at:end]
        at = end


def object_of(event: bytes) -> dict[str, object] | None:
    """An event's JSON object; None where it has none."""
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
