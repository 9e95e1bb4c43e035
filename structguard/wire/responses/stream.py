"""Responses events → stream events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from structguard.types import (
    DeclineDelta,
    Format,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCalled,
    as_mapping,
    as_sequence,
    as_text,
)
from structguard.wire.base import DEFAULTS, NO_HEADERS, BadReply, Headers, WireOptions
from structguard.wire.faults import failure_in
from structguard.wire.headers import metadata
from structguard.wire.payload import dumps
from structguard.wire.reply import finished
from structguard.wire.responses.reply import call_of, decode_reply, raise_error, resource
from structguard.wire.shortcut import Shortcut
from structguard.wire.stream import SseDecoder

_Place = tuple[str, object]  # what grows, and at which index of its item
_Delta = Callable[[str], StreamEvent]
_GROWS: Mapping[str, tuple[_Delta, str]] = {
    "response.output_text": (TextDelta, "text"),
    "response.refusal": (DeclineDelta, "refusal"),
    "response.reasoning_summary_text": (ReasoningDelta, "text"),
    "response.reasoning_text": (ReasoningDelta, "text"),
    "response.reasoning": (ReasoningDelta, "text"),
}
_DELTAS = {f"{name}.delta": (name, make) for name, (make, _) in _GROWS.items()}
_DONES = {f"{name}.done": (name, make, key) for name, (make, key) in _GROWS.items()}
_ARGUMENTS: _Place = ("arguments", 0)
_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})


def open_stream(
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    options: WireOptions = DEFAULTS,
) -> SseDecoder:
    """A decoder for one streamed response. Source: OpenAI API reference, Responses streaming."""
    reader = _Events(headers, format)
    return SseDecoder(
        reader,
        lambda body: decode_reply(body, headers, format=format, options=options),
        headers,
        Shortcut(b'"delta":"', reader.plain, b'"sequence_number":'),
    )


@dataclass(slots=True)
class _Item:
    """One output item as the stream told of it; `done` is the vendor's own whole."""

    added: Mapping[str, object] = field(default_factory=dict[str, object])
    done: Mapping[str, object] | None = None
    grown: dict[_Place, list[str]] = field(default_factory=dict["_Place", list[str]])
    given: bool = False  # its call was handed out


class _Events:
    """
    Reads named events. A call is handed out once, when it is done and no earlier call is open; the
    terminal event's own output is the reply, or, where it is empty, what the events told.
    """

    __slots__ = ("_format", "_handed", "_headers", "_items", "_partial")

    def __init__(self, headers: Headers, format: Format | None) -> None:  # noqa: A002
        self._headers = headers
        self._format = format
        self._items: dict[int, _Item] = {}
        self._handed: set[str] = set()  # ids of the calls given out
        self._partial: Mapping[str, object] = {}

    def take(self, event: Mapping[str, object], out: list[StreamEvent]) -> bool:
        """One event; True for completed, incomplete and failed."""
        kind = as_text(event.get("type"))
        delta = None if kind is None else _DELTAS.get(kind)
        if delta is not None:
            name, make = delta
            text = event.get("delta")
            if isinstance(text, str) and text:
                self._item(event).grown.setdefault(_place(name, event), []).append(text)
                out.append(make(text))
            return False
        if kind in _TERMINAL:
            self._end({**self._partial, **(as_mapping(event.get("response")) or {})}, out)
            return True
        if (handle := _HANDLERS.get(kind)) is not None:
            handle(self, event, out)
        elif kind is None:
            raise_error(event)
        return False

    def plain(self, event: Mapping[str, object]) -> list[str] | None:
        """See `Shortcut`: a delta of the answer's text."""
        if event.get("type") != "response.output_text.delta" or not event.get("delta"):
            return None
        return self._item(event).grown.get(_place("response.output_text", event))

    def end(self, out: list[StreamEvent]) -> bool:
        """The bytes ended: always too early, as a terminal event stops the reading."""
        del out
        return False

    def begun(self, event: Mapping[str, object], out: list[StreamEvent]) -> None:
        """created, in_progress, queued: the response as far as it is known."""
        del out
        self._partial = as_mapping(event.get("response")) or {}

    def item_added(self, event: Mapping[str, object], out: list[StreamEvent]) -> None:
        """output_item.added: a call's id and name are known from here."""
        del out
        self._item(event).added = as_mapping(event.get("item")) or {}

    def item_done(self, event: Mapping[str, object], out: list[StreamEvent]) -> None:
        """output_item.done: the vendor's own whole."""
        self._item(event).done = as_mapping(event.get("item")) or {}
        self._hand_out(out)

    def arguments_grow(self, event: Mapping[str, object], out: list[StreamEvent]) -> None:
        """function_call_arguments.delta."""
        del out
        self._item(event).grown.setdefault(_ARGUMENTS, []).append(_text(event, "delta"))

    def arguments_done(self, event: Mapping[str, object], out: list[StreamEvent]) -> None:
        """function_call_arguments.done: the call is whole if its name and id are known."""
        item = self._item(event)
        call = {**item.added, **event, "type": "function_call"}
        if item.done is None and call.get("call_id") and call.get("name"):
            item.done = call
            self._hand_out(out)

    def fault(self, event: Mapping[str, object], out: list[StreamEvent]) -> None:
        """error: its facts nested under `error`, or beside the type."""
        del out
        facts = event.get("error") or {k: v for k, v in event.items() if k != "type"}
        raise BadReply(failure_in({"error": facts}, dumps(event)))

    def _item(self, event: Mapping[str, object]) -> _Item:
        at = event.get("output_index")
        index = at if isinstance(at, int) else 0
        item = self._items.get(index)
        if item is None:
            item = self._items[index] = _Item()
        return item

    def text_done(self, event: Mapping[str, object], out: list[StreamEvent]) -> None:
        """A text is whole; where no delta told it, it is told now."""
        name, make, key = _DONES[_text(event, "type")]
        text = _text(event, key)
        grown = self._item(event).grown
        place = _place(name, event)
        if text and place not in grown:
            grown[place] = [text]
            out.append(make(text))

    def _hand_out(self, out: list[StreamEvent]) -> None:
        for _, item in sorted(self._items.items()):
            if (item.done or item.added).get("type") != "function_call" or item.given:
                continue
            if item.done is None:
                return  # an earlier call is still open: the order is the model's
            item.given = True
            call = call_of(item.done)
            self._handed.add(call.id)
            out.append(ToolCalled(call))

    def _end(self, response: Mapping[str, object], out: list[StreamEvent]) -> None:
        raise_error(response)
        items = [_whole(item) for _, item in sorted(self._items.items())]
        output = as_sequence(response.get("output")) or items
        reply = resource(response, output, metadata(self._headers))
        self._add_missing(reply.text, "response.output_text", TextDelta, out)
        self._add_missing(reply.declined, "response.refusal", DeclineDelta, out)
        out.extend(ToolCalled(call) for call in reply.calls if call.id not in self._handed)
        out.extend(finished(reply, self._format))

    def _add_missing(
        self, texts: list[str], name: str, make: _Delta, out: list[StreamEvent]
    ) -> None:
        """Text that only the terminal event holds is told before it."""
        streamed = any(place[0] == name for item in self._items.values() for place in item.grown)
        if not streamed and (text := "".join(texts)):
            out.append(make(text))


def _place(name: str, event: Mapping[str, object]) -> _Place:
    at = event.get("content_index", event.get("summary_index", 0))
    return name, at if isinstance(at, int) else 0


def _text(event: Mapping[str, object], key: str) -> str:
    return as_text(event.get(key)) or ""


def _whole(item: _Item) -> Mapping[str, object]:
    """The item as done; one that was cut is made of what had arrived."""
    if item.done is not None:
        return item.done
    pieces = {place: "".join(texts) for place, texts in item.grown.items()}
    kind = item.added.get("type", "message")
    if kind == "function_call":
        return {**item.added, "arguments": pieces.get(_ARGUMENTS, "")}
    key = "summary" if kind == "reasoning" else "content"
    return {
        **item.added,
        "type": kind,
        key: [
            {"refusal" if place[0] == "response.refusal" else "text": text}
            for place, text in pieces.items()
        ],
    }


_HANDLERS: Mapping[object, Callable[[_Events, Mapping[str, object], list[StreamEvent]], None]] = {
    "response.created": _Events.begun,
    "response.in_progress": _Events.begun,
    "response.queued": _Events.begun,
    "response.output_item.added": _Events.item_added,
    "response.output_item.done": _Events.item_done,
    "response.function_call_arguments.delta": _Events.arguments_grow,
    "response.function_call_arguments.done": _Events.arguments_done,
    **dict.fromkeys(_DONES, _Events.text_done),
    "error": _Events.fault,
}
"""Events that bring no delta; parts, annotations and hosted tools' progress are told again later."""
