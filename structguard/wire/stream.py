"""
One decoder for every wire that streams server-sent events; what an event means is the vendor's.

A wire gives a `Reader`: it takes one parsed event at a time and says when the reply is over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

import jiter

from structguard.types import Completion, Failure, StreamEvent, TextDelta
from structguard.wire.base import BadReply, Headers
from structguard.wire.faults import failure_in
from structguard.wire.payload import as_dict, loads
from structguard.wire.reply import bad, events_of, with_headers
from structguard.wire.shortcut import Shortcut
from structguard.wire.sse import SseReader

_DONE = b"[DONE]"
_SHOWN = 65536  # bytes of a body that is no event stream kept for the failure
_SPACE = 64  # bytes of white space that may stand before a JSON value
_BOM = b"\xef\xbb\xbf"


class Reader(Protocol):
    """What one vendor's events mean."""

    def take(self, event: Mapping[str, object], out: list[StreamEvent], /) -> bool:
        """
        Put what the event brings into `out`; True when it was the last one.

        Raises:
            BadReply: the event tells of an error.
        """
        ...

    def end(self, out: list[StreamEvent], /) -> bool:
        """The bytes are over: put what is left into `out`; False where no terminal event came."""
        ...


class EventDecoder:
    """Feeds parsed events to a reader; holds back a fault until `close`. See `StreamDecoder`."""

    __slots__ = ("_fault", "_headers", "_reader", "done", "yielded")

    def __init__(self, reader: Reader, headers: Headers) -> None:
        self._reader = reader
        self._headers = headers
        self.done: bool = False  # a terminal event or a fault was read
        self.yielded: bool = False  # whether any event was given out
        self._fault: Failure | None = None

    def feed(self, data: bytes) -> list[StreamEvent]:
        """One event as JSON."""
        event = _parsed(data)
        if event is None:
            return self.fail(bad("an event of the stream is not a JSON object", data).failure)
        return self.feed_event(event)

    def feed_event(self, event: Mapping[str, object]) -> list[StreamEvent]:
        """What one event brings."""
        out: list[StreamEvent] = []
        self.take(event, out)
        return out

    def take(self, event: Mapping[str, object], out: list[StreamEvent]) -> None:
        """As `feed_event`, into a list that is already there."""
        if self.done:
            return
        try:
            self.done = self._reader.take(event, out)
        except BadReply as fault:
            self.fail(fault.failure)
        if out:
            self.yielded = True

    def end(self, out: list[StreamEvent]) -> None:
        """The vendor's own sign that nothing follows, or the end of the bytes."""
        if self.done:
            return
        try:
            whole = self._reader.end(out)
        except BadReply as fault:
            self.fail(fault.failure)
            return
        self.done = True
        if not whole:
            self.fail(truncated())

    def fail(self, failure: Failure) -> list[StreamEvent]:
        """The stream is over with this failure, which `close` raises."""
        self.done, self._fault = True, failure
        return []

    def close(self) -> list[StreamEvent]:
        """The end: what is left, or the failure."""
        return self.finish([], yielded=self.yielded)

    def finish(self, out: list[StreamEvent], *, yielded: bool) -> list[StreamEvent]:
        """As `close`, with what was left; `yielded` tells whether events had been given out."""
        self.end(out)
        if self._fault is not None:
            failure = with_headers(self._fault, self._headers)
            raise BadReply(replace(failure, yielded=yielded))
        return out


class SseDecoder:
    """
    Reads a vendor's reply sent as server-sent events.

    A body that turns out to be one JSON value (a server that ignores `stream`, an error with
    status 200) is decoded as a whole reply at the end. `shortcut` takes what events of text it can.
    """

    __slots__ = ("_events", "_head", "_is_json", "_seen", "_shortcut", "_sse", "_whole")

    def __init__(
        self,
        reader: Reader,
        whole: Callable[[bytes], Completion],
        headers: Headers,
        shortcut: Shortcut | None = None,
    ) -> None:
        self._events = EventDecoder(reader, headers)
        self._shortcut = shortcut
        self._sse = SseReader()
        self._whole = whole
        self._seen = False  # any event at all
        self._head = bytearray()  # what came while nothing was an event
        self._is_json = False  # that is the beginning of one JSON value

    @property
    def done(self) -> bool:
        """Whether a terminal event or a fault was read."""
        return self._events.done

    def feed(self, data: bytes) -> list[StreamEvent]:
        """The events that became whole with these bytes."""
        out: list[StreamEvent] = []
        if self._events.done:
            return out
        found = self._sse.feed(data)
        if not self._seen:
            self._keep(data, seen=bool(found))
        self._take(found, out)
        return out

    def close(self) -> list[StreamEvent]:
        """What is left; raises the failure of a stream that broke or was cut."""
        out: list[StreamEvent] = []
        yielded = self._events.yielded
        if not self._events.done:
            found = self._sse.close()
            self._seen = self._seen or bool(found)
            if not self._seen:
                return self._close_whole()
            whole = [event for event in found if event[1].strip() == _DONE or _parsed(event[1])]
            self._take(whole, out)  # an event cut in its middle is no event
        return self._events.finish(out, yielded=yielded)

    def _keep(self, data: bytes, *, seen: bool) -> None:
        self._seen = seen
        if seen:
            self._head.clear()
        elif self._is_json or len(self._head) < _SHOWN:
            self._head += data
            self._is_json = self._is_json or _begins_json(self._head)

    def _close_whole(self) -> list[StreamEvent]:
        head = bytes(self._head)
        if self._is_json:
            return events_of(self._whole(head))
        self._events.fail(truncated(head))
        return self._events.close()

    def _take(self, found: list[tuple[str, bytes]], out: list[StreamEvent]) -> None:
        events, shortcut = self._events, self._shortcut
        for name, data in found:
            if events.done:
                return
            if not data.strip():  # some keep a connection alive with events of no data
                continue
            if shortcut is not None and (text := shortcut.take(name, data)) is not None:
                out.append(TextDelta(text))
                continue
            event = _parsed(data)
            if event is None:
                self._no_event(name, data, out)
            elif name and not _agrees(name, event):
                events.fail(_misnamed(name, event, data))
            else:
                events.take(event, out)
                if shortcut is not None:
                    shortcut.learn(name, data, event)

    def _no_event(self, name: str, data: bytes, out: list[StreamEvent]) -> None:
        if data.strip() == _DONE:
            self._events.end(out)
        elif name == "error":  # in plain words
            said = data.decode("utf-8", "replace")
            self._events.fail(failure_in({"error": said}, said))
        else:
            self._events.fail(bad("an event of the stream is not a JSON object", data).failure)


def _begins_json(head: bytearray) -> bool:
    return head[: len(_BOM) + _SPACE].removeprefix(_BOM).lstrip().startswith((b"{", b"["))


def _parsed(data: bytes) -> Mapping[str, object] | None:
    try:
        return as_dict(jiter.from_json(data))
    except ValueError:
        return None if data == _DONE else _parsed_oddly(data)


def _parsed_oddly(data: bytes) -> Mapping[str, object] | None:
    try:
        return as_dict(loads(data))
    except ValueError:
        return None


def _agrees(name: str, event: Mapping[str, object]) -> bool:
    """
    The data's type decides; a name beside it must say the same ("message" is SSE's default). What
    is called error and holds none is the error itself.
    """
    if name == "error" and "type" not in event:
        return bool(event.get("error"))
    return name == "message" or event.get("type", name) == name


def _misnamed(name: str, event: Mapping[str, object], data: bytes) -> Failure:
    """An event that is not what it is called; one called error tells of one, whatever its type."""
    if name == "error":
        return failure_in({"error": event}, data.decode("utf-8", "replace"))
    return bad(f"event {name!r} holds type {event['type']!r}", data).failure


def truncated(body: bytes = b"") -> Failure:
    """A stream that ended without its terminal event."""
    return Failure(
        status=200,
        body=body.decode("utf-8", "replace"),
        message="the stream ended before its terminal event",
        truncated=True,
    )
