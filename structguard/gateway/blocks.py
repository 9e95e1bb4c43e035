"""
The bytes of an upstream's event stream, cut between events and else left alone.

Nothing is decoded here that need not be: what passes is forwarded as it came.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

import orjson

from structguard.http import Response
from structguard.types import Api, as_mapping

DONE = b"data: [DONE]\n\n"
_ENDS: Mapping[Api, tuple[bytes, ...]] = {
    "chat": (b"[DONE]", b'"finish_reason":"', b'"finish_reason": "'),
    "responses": (b'"response.completed"', b'"response.incomplete"', b'"response.failed"'),
}
_RESOURCE = b'"response":'  # a key only events of the response itself have; in texts it is escaped
_DONE = re.compile(rb"^data: ?\[DONE\]", re.MULTILINE)
MAX_EVENT = 32 * 1024 * 1024  # bytes of one event; more is no event stream


class Blocks:
    """
    Whole events, several in one block, as the network brings them.

    `ended`: a terminal event came; `done`: so did the `[DONE]` after it; `over`: nothing follows.
    """

    __slots__ = ("_back", "_ends", "_held", "_pieces", "done", "ended", "over")

    def __init__(self, response: Response, api: Api) -> None:
        self._pieces: AsyncIterator[bytes] = response.aiter()
        self._held = b""
        self._back: list[bytes] = []
        self._ends = _ENDS[api]
        self.ended: bool = False
        self.done: bool = False
        self.over: bool = False

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    def put_back(self, blocks: Iterable[bytes]) -> None:
        """Give these again, before what follows them."""
        self._back.extend(blocks)

    async def __anext__(self) -> bytes:
        """
        The next block.

        Raises:
            ExchangeFailed: the connection broke.
        """
        if self._back:
            return self._back.pop(0)
        async for piece in self._pieces:
            data = self._held + piece if self._held else piece
            if b"\r" in data:
                data = self._without_returns(data)
            cut = data.rfind(b"\n\n") + 2
            if cut > 1:  # else none was found
                self._held = data[cut:]
                return self._seen(data if cut == len(data) else data[:cut])
            self._held = data
            if len(data) > MAX_EVENT:
                break
        if self._held.strip():
            rest, self._held = self._held, b""
            return self._seen(rest + b"\n\n")
        self.over = True
        raise StopAsyncIteration

    def _without_returns(self, data: bytes) -> bytes:
        """CRLF and CR as LF; a CR at the very end waits for what follows it."""
        if data.endswith(b"\r"):
            return data[:-1].replace(b"\r\n", b"\n").replace(b"\r", b"\n") + b"\r"
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _seen(self, block: bytes) -> bytes:
        if not self.ended:
            for end in self._ends:
                if end in block:
                    self.ended = True
        if self.ended and not self.done:
            self.done = _DONE.search(block) is not None
        return block


def holds_resource(block: bytes) -> bool:
    """Whether an event of the block carries the resource."""
    return _RESOURCE in block


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


def is_opening(event: bytes) -> bool:
    """Whether an event can only say that a response has begun: a large one, and no answer in it."""
    return _RESOURCE in event and b'"response.completed"' not in event


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
