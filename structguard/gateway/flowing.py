"""
An upstream's event stream on its way to a client of the same wire.

Held back only while it may still turn out to be an error, or while a text that had to be degraded
is not whole. Source: spec gateway "Replies", rows "Stream" and "Healing".
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Iterator

import anyio

from structguard.clients.replies import calls_or_declines, get, items, put
from structguard.clients.streams import StreamHealer
from structguard.gateway.blocks import (
    ENDS,
    Blocks,
    cut,
    may_err,
    object_of,
    raw_events,
    spoken,
    up_to_end,
    up_to_error,
)
from structguard.gateway.faults import unusable
from structguard.gateway.promoting import Silent, spoken_answer
from structguard.gateway.turn import Served
from structguard.http import ExchangeFailed, Response
from structguard.types import Api, Failure, Format
from structguard.wire.base import BadReply
from structguard.wire.stream import truncated

_finish = re.compile(rb'"finish_reason": ?"').search  # what a chunk holds that ends a choice
_DRAIN = 0.05  # seconds granted to the end of a finished body, so that its connection can be kept


class RawStream:
    """
    An open stream: `blocks` gives whole events as bytes. `answered`: a sign of an answer came with
    the first ones; `served` says how, its source once the text was read.
    """

    def __init__(self, response: Response, blocks: Blocks, api: Api) -> None:
        self.served: Served = Served()
        self.answered = False
        self.strict = False  # a text that holds no value is an error
        self.fail: Callable[[Failure], Exception] = BadReply
        self.broken: Exception | None = None
        self.api: Api = api
        self._response = response
        self._blocks = blocks
        self._healer: StreamHealer | None = None
        self._heals = False
        self._asked: Callable[[], Format | None] = lambda: None
        self._silent = Silent()
        self._number = 0
        self._told = 0
        self._unusable = False
        self._called = False
        self._doubted: list[bytes] | None = (
            None  # what waits until calls tell a remark from no answer
        )
        self.bare = False  # its events lack names or numbers: they get both here

    def heal(self, asked: Callable[[], Format | None], *, degraded: bool) -> None:
        """The text must become bare JSON that fits."""
        self._heals = True
        self._healer = StreamHealer(self.api, asked, degraded)
        self._asked = asked

    @property
    def is_done(self) -> bool:
        """Whether the upstream's own `[DONE]` came."""
        return self._blocks.done

    async def blocks(self) -> AsyncIterator[bytes]:
        """
        The blocks, healed.

        Raises:
            ProviderError: the stream broke or told an error, after what had come was given out;
                `broken` keeps it.
            ApiError: `strict`, and the text holds no value.
        """
        told: Failure | None = None
        fault: Failure | None = None
        try:
            async for came in self._blocks:
                block, is_last = up_to_end(came, self.api)
                block, told = self._up_to_error(self._named(block) if self.bare else block)
                if out := self._out(block) if self._heals else block:
                    yield out
                if self._unusable:
                    raise unusable()
                if told is not None or is_last:
                    break
        except ExchangeFailed as error:
            fault = cut(error.failure)
        if rest := b"".join(self._doubted or ()) + self._rest():
            yield rest
        failure = told or (None if self._blocks.ended else fault or truncated())
        if failure is not None:  # a connection that breaks after the end is no loss
            self.broken = self.fail(failure)
            raise self.broken

    def _up_to_error(self, block: bytes) -> tuple[bytes, Failure | None]:
        """A block up to an error that the upstream tells before its end, and what it says."""
        if not may_err(block) or self._blocks.ended_before:
            return block, None
        return up_to_error(block, self.api)

    def _named(self, block: bytes) -> bytes:
        """A block whose events have their names and numbers."""
        out = list[bytes]()
        for raw in raw_events(block):
            event = object_of(raw)
            if event is None or "type" not in event:
                out.append(raw)
                continue
            out.append(spoken({**event, "sequence_number": self._told}, self.api))
            self._told += 1
        return b"".join(out)

    def _out(self, block: bytes) -> bytes:
        """A block, event by event while there is something to heal, then as it is."""
        healer = self._healer
        if healer is None:
            return self._noted(block)
        made, at = list[bytes](), 0
        while healer is not None and at < len(block) and not self._unusable:
            end = block.find(b"\n\n", at)
            end = len(block) if end < 0 else end + 2
            pieces = list(self._pieces(healer, block[at:end]))
            made.extend(pieces if self._doubted is None else self._waiting(self._doubted, pieces))
            at, healer = end, self._healer
        return b"".join(made if self._unusable else (*made, self._noted(block[at:])))

    def _noted(self, block: bytes) -> bytes:
        """A block of a text that passes, with how it was served in the chunk that ends the choice."""
        found = _finish(block) if self.api == "chat" else None
        if found is None:
            return block
        gap = block.rfind(b"\n\n", 0, found.start())
        start = 0 if gap < 0 else gap + 2  # of the first event that may end a choice
        out = [block[:start]]
        for raw in raw_events(block[start:]):
            event = object_of(raw) if _finish(raw) else None
            if event is None or not _finishes(event):
                out.append(raw)
                continue
            put(event, "metadata", self.served.headers())
            out.append(self._spoken(event))
        return b"".join(out)

    def _waiting(self, doubted: list[bytes], pieces: list[bytes]) -> list[bytes]:
        """What may go out while it is not sure whether the text was all that is said."""
        doubted.extend(pieces)
        if not self._called:
            return []
        self._doubted = None
        return doubted

    def _pieces(self, healer: StreamHealer, raw: bytes) -> Iterator[bytes]:
        if self._is_no_text(healer, raw):
            self._number += 1
            yield raw
            return
        event = object_of(raw)
        if event is not None:
            yield from self._healed(healer, raw, event)
        else:
            if b"[DONE]" in raw:
                yield self._rest()
            yield raw

    def _healed(
        self, healer: StreamHealer, raw: bytes, event: dict[str, object]
    ) -> Iterator[bytes]:
        """One event; a text that is JSON from its first character on ends the healing."""
        is_text = _is_text(event, self.api)
        said, event = self._promoted(healer, event)
        out = list(healer.feed(event))
        self.served.source = healer.source or ("json" if said else self.served.source)
        yield from (self._spoken(one) for one in said)
        self._called = self._called or self._calls(event)
        if healer.holds and healer.source is None and not self._called:
            self._judge(event)
            if self._unusable:
                return
        if is_text and not healer.holds:
            self._healer = None
            self.served.source = "json"
            yield raw
            return
        if not healer.holds and self._passes(event):
            yield raw
            return
        for one in out:
            if self.api == "chat" and _finishes(one):
                put(one, "metadata", self.served.headers())
            yield self._spoken(one)

    def _judge(self, event: object) -> None:
        """What a text means in which no value was found, once it is known to be all that is said."""
        if self._ends(event):
            self._unusable = self.strict
            self.served.read_in_vain()
        elif self.strict and get(event, "type") == "response.output_text.done":
            self._doubted = self._doubted or []

    def _promoted(
        self, healer: StreamHealer, event: dict[str, object]
    ) -> tuple[list[dict[str, object]], dict[str, object]]:
        """An answer that was only thought, as events to go before the end; and that end."""
        if healer.holds:
            return [], event
        if self.api == "chat":
            return [*self._silent.answers(event, self._asked)], event
        said, end = spoken_answer(event, self._number, self._asked)
        return said, event if end is None else end

    def _ends(self, event: object) -> bool:
        """Whether all that is said, and called, is there with this event."""
        return _finishes(event) if self.api == "chat" else _is_terminal(event)

    def _calls(self, event: object) -> bool:
        """Whether the event shows that text is no answer, but what stands before calls."""
        if self.api == "chat":
            deltas = [get(choice, "delta") for choice in items(event, "choices")]
            return any(get(one, "tool_calls") or get(one, "function_call") for one in deltas)
        if get(event, "type") == "response.output_item.added":
            return get(get(event, "item"), "type") in {"function_call", "custom_tool_call"}
        return _is_terminal(event) and calls_or_declines(get(event, "response"), self.api)

    def _is_no_text(self, healer: StreamHealer, raw: bytes) -> bool:
        """Whether an event before any text, with the number it must have, need not be read."""
        return (
            self.api == "responses"
            and not healer.holds
            and b"response.output_text." not in raw
            and b'"sequence_number":%d,' % self._number in raw
            and not any(end in raw for end in ENDS["responses"])
        )

    def _passes(self, event: object) -> bool:
        """Whether an event that nothing was done to can go out as it came."""
        if self.api == "chat":
            return not _finishes(event)
        if get(event, "sequence_number") != self._number:
            return False
        self._number += 1
        return True

    def _spoken(self, event: object) -> bytes:
        """An event as bytes; where deltas were joined, the numbers must have no gap."""
        if self.api == "responses":
            put(event, "sequence_number", self._number)
            self._number += 1
        return spoken(event, self.api)

    def _rest(self) -> bytes:
        if self._healer is None:
            return b""
        return b"".join(self._spoken(event) for event in self._healer.rest())

    async def aclose(self) -> None:
        """Close the connection, or give it back if the stream is at its end."""
        if self._blocks.over:
            await self._response.aclose()
            return
        try:
            if self._blocks.ended:
                with anyio.move_on_after(_DRAIN):
                    async for _ in self._blocks:
                        pass
        except ExchangeFailed:
            pass
        finally:
            with anyio.CancelScope(shield=True):
                await self._response.aclose()


def _is_text(event: object, api: Api) -> bool:
    """Whether an event brings text of the answer."""
    if api == "responses":
        return get(event, "type") == "response.output_text.delta"
    return any(get(get(choice, "delta"), "content") for choice in items(event, "choices"))


def _is_terminal(event: object) -> bool:
    return get(event, "type") in {"response.completed", "response.incomplete"}


def _finishes(chunk: object) -> bool:
    return any(get(choice, "finish_reason") for choice in items(chunk, "choices"))
