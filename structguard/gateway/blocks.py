"""
The bytes of an upstream's event stream, cut between events and else left alone.

Nothing is decoded here that need not be: what passes is forwarded as it came.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from dataclasses import replace

import orjson

from structguard.clients.replies import failure_in, get
from structguard.gateway.writing import packed
from structguard.http import Response
from structguard.types import Api, Failure, as_mapping
from structguard.wire.base import BadReply
from structguard.wire.stream import truncated
from structguard.wire.table import WIRES

DONE = b"data: [DONE]\n\n"
ENDS: Mapping[Api, tuple[bytes, ...]] = {
    "chat": (b"[DONE]", b'"finish_reason":"', b'"finish_reason": "'),
    "responses": (b'"response.completed"', b'"response.incomplete"', b'"response.failed"'),
}
_terminal = re.compile(
    rb'"response\.(?:completed|incomplete|failed)"'
).search  # one look, not three
_RESOURCE = b'"response":'  # a key only events of the response itself have; in texts it is escaped
_LAST = 4  # blocks among which the terminal event is: usage, [DONE] and a comment may follow it
_TAIL = 32  # bytes that hold the event [DONE]
MAX_EVENT = 32 * 1024 * 1024  # bytes of one event; more is no event stream


class Blocks:
    """
    Whole events, several in one block, as the network brings them.

    `over`: nothing follows. Whether the stream is whole is only looked for when somebody asks.
    """

    __slots__ = ("_back", "_ends", "_held", "_last", "_pieces", "over")

    def __init__(self, response: Response, api: Api) -> None:
        self._pieces: AsyncIterator[bytes] = response.aiter()
        self._held = b""
        self._back: list[bytes] = []
        self._ends = ENDS[api]
        self._last: deque[bytes] = deque(maxlen=_LAST)
        self.over: bool = False

    @property
    def ended(self) -> bool:
        """Whether a terminal event was among the last blocks."""
        return any(end in block for block in reversed(self._last) for end in self._ends)

    @property
    def ended_before(self) -> bool:
        """Whether a terminal event was among the last blocks but for the one just given."""
        return any(end in block for block in list(self._last)[:-1] for end in self._ends)

    @property
    def done(self) -> bool:
        """Whether `[DONE]` was the last event."""
        return bool(self._last) and _is_done(self._last[-1])

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    def put_back(self, blocks: Iterable[bytes]) -> None:
        """Give these again, before what follows them."""
        self._back.extend(blocks)

    def give(self, block: bytes) -> None:
        """Give this, and nothing of what came."""
        self._back = [block]
        self._last.clear()
        self._last.append(block)

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
        self._last.append(block)
        return block


def holds_resource(block: bytes) -> bool:
    """Whether an event of the block carries the resource."""
    return _RESOURCE in block


def up_to_end(block: bytes, api: Api) -> tuple[bytes, bool]:
    """
    A block up to the stream's last event, and whether that is in it: nothing is read behind it,
    whether or not the upstream ends its reply there.
    """
    if api == "chat":
        return block, _is_done(block)
    if not holds_resource(block):
        return block, False
    found = _terminal(block)
    if found is None:
        return block, False
    return block[: block.find(b"\n\n", found.start()) + 2], True


def _is_done(block: bytes) -> bool:
    return block[-_TAIL:].rstrip().endswith(b"[DONE]")


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
    """Whether an event can only say that a response has begun."""
    return _RESOURCE in event and (
        b'"response.created"' in event or b'"response.in_progress"' in event
    )


def raw_events(block: bytes) -> Iterator[bytes]:
    """The events of a block, one after another, as bytes."""
    at = 0
    while at < len(block):
        end = block.find(b"\n\n", at)
        end = len(block) if end < 0 else end + 2
        yield block[at:end]
        at = end


def without_done(block: bytes) -> bytes:
    """A block without `[DONE]`: whoever writes the end of a stream writes it once."""
    if b"[DONE]" not in block:
        return block
    return b"".join(
        raw for raw in raw_events(block) if raw.removeprefix(b"data:").strip() != b"[DONE]"
    )


def may_err(block: bytes) -> bool:
    """Whether an error may be told in a block: resources say `"error":null` in every stream."""
    at = -1
    while (at := block.find(b'"error"', at + 1)) >= 0:
        if not block.startswith((b":null", b": null"), at + len(b'"error"')):
            return True
    return False


def up_to_error(block: bytes, api: Api) -> tuple[bytes, Failure | None]:
    """
    A block up to an error that the upstream tells, and what it says.

    Its form is the upstream's own, and most streams break off after it: whoever writes the end
    tells it, once.
    """
    at = 0
    for raw in raw_events(block):
        if may_err(raw) and _is_error(object_of(raw), api):
            return block[:at], _failure(raw, api)
        at += len(raw)
    return block, None


def _is_error(event: object, api: Api) -> bool:
    return get(event, "type") == "error" or bool(failure_in(event, api))


def _failure(raw: bytes, api: Api) -> Failure:
    """What an error event says, as the wire reads it."""
    decoder = WIRES[api].open_stream()
    decoder.feed(raw)
    try:
        decoder.close()
    except BadReply as error:
        return error.failure
    return truncated()


def cut(failure: Failure) -> Failure:
    """A connection that broke cut the stream; our own deadline stays what it is."""
    if failure.own_timeout or not failure.truncated:
        return failure
    return replace(failure, network=False)


def is_bare(event: bytes) -> bool:
    """Whether an event of the responses wire lacks its name or its number."""
    return b'"sequence_number"' not in event or not event.startswith(b"event:")


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
    data = b"data: " + packed(event) + b"\n\n"
    if api == "responses":
        kind = (as_mapping(event) or {}).get("type")
        return b"event: " + str(kind).encode() + b"\n" + data
    return data
