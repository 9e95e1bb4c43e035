"""
Event streams on their way through a transport: bytes in, bytes out, cut between events.

What need not be changed is handed on as the bytes it came in, comments and line ends included; only
events whose text was held are written anew. Pure: whoever drives it reads the socket.
Source: WHATWG HTML "Server-sent events"; spec guard §2, row "streaming".
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import jiter

from structguard.clients.replies import failure_in, get
from structguard.clients.signs import gives_answer
from structguard.clients.streams import StreamHealer
from structguard.types import Api, as_mapping
from structguard.wire.sse import SseReader

_BLANK = re.compile(rb"(?:\r\n|\r(?!\n)|\n){2}")  # a line's end and an empty line


@dataclass(slots=True)
class Blocks:
    """Cuts bytes into whole events, each with the bytes it came in."""

    _held: bytes = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The events these bytes complete."""
        searched = max(len(self._held) - 3, 0)  # no end of an event reaches further back
        self._held += data
        while (end := _BLANK.search(self._held, searched)) is not None:
            block, self._held, searched = self._held[: end.end()], self._held[end.end() :], 0
            yield block

    def close(self) -> Iterator[bytes]:
        """The event that was begun and never ended, if there is one."""
        if self._held:
            block, self._held = self._held, b""
            yield block


@dataclass(slots=True)
class EventStream:
    """
    One stream, in two stages: `peek` until it may be handed on, then `feed` and `close`.

    `confirm`: it may only be handed on with a sign of an answer in it (`answered`); else with its
    first event. `failure` is the event that told of an error before that, `begun` whether the stage
    is over. `many`: several answers were asked for. A single one that starts as JSON under an
    accepted format passes from there on as it comes, unread.
    """

    api: Api
    healer: StreamHealer
    confirm: bool
    answered: bool = False
    begun: bool = False
    failure: dict[str, object] | None = None
    many: bool = False
    _head: list[bytes] = field(default_factory=list[bytes])
    _blocks: Blocks = field(default_factory=Blocks)
    _reader: SseReader = field(default_factory=SseReader)
    _named: bool = False

    def peek(self, data: bytes) -> bool:
        """Keep these bytes; whether enough has come to judge the stream."""
        for block in self._blocks.feed(data):
            self._look(block)
        return self.begun

    def ended(self) -> None:
        """The stream ended while it was peeked into."""
        for block in self._blocks.close():
            self._look(block)

    def head(self) -> bytes:
        """What was kept, healed; asked for once, before anything is fed."""
        head, self._head = self._head, []
        return b"".join(chunk for block in head for chunk in self._healed(block))

    def feed(self, data: bytes) -> bytes:
        """What to hand on for these bytes; nothing while a text is held."""
        if self._passes:
            return b"".join(self._blocks.close()) + data
        return b"".join(chunk for block in self._blocks.feed(data) for chunk in self._healed(block))

    def close(self) -> bytes:
        """What is left when the stream has ended or broken: nothing is lost."""
        left = [chunk for block in self._blocks.close() for chunk in self._healed(block)]
        if self._passes:
            return b"".join(left)
        return b"".join(left) + self._rest()

    def _look(self, block: bytes) -> None:
        self._head.append(block)
        if self.begun:
            return
        reader = SseReader()
        for _, data in (*reader.feed(block), *reader.close()):
            event = _object(data)
            if event is None:
                continue
            if error_of(event, self.api) is not None:
                self.failure, self.begun = event, True
                return
            self.answered = gives_answer(event, self.api)
            self.begun = self.answered or not self.confirm

    @property
    def _passes(self) -> bool:
        return not self.many and not self.healer.holds and not self.healer.may_hold()

    def _healed(self, block: bytes) -> Iterator[bytes]:
        if self._passes:
            yield block
            return
        events = self._reader.feed(block)
        if not events:
            events = self._reader.close()  # the last one, never ended
        if not events:
            yield block  # a comment, a ping
        for name, data in events:
            self._named = self._named or bool(name)
            event = _object(data)
            if event is None:
                yield self._rest()
                yield block
                continue
            out = list(self.healer.feed(event))
            if self.healer.holds:
                yield from map(self._spoken, out)
            else:
                yield block

    def _rest(self) -> bytes:
        return b"".join(map(self._spoken, self.healer.rest()))

    def _spoken(self, event: object) -> bytes:
        data = f"data: {json.dumps(event, separators=(',', ':'))}\n\n"
        kind = get(event, "type")
        return (f"event: {kind}\n{data}" if self._named and kind else data).encode()


def error_of(event: object, api: Api) -> object | None:
    """The error an event tells of, None for every other event."""
    kind = get(event, "type")
    if kind == "error":
        return get(event, "error") or event
    if kind == "response.failed":
        return get(get(event, "response"), "error") or event
    return failure_in(event, api)


def _object(data: bytes) -> dict[str, object] | None:
    try:
        value = as_mapping(jiter.from_json(data))
    except ValueError:
        return None
    return dict(value) if value is not None else None
