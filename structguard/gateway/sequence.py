"""
Neutral stream events → the document's event sequence, one item finished before the next is added.

Source: the Open Responses document (2026-04-24), streaming events; spec gateway "Replies", "Stream".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from structguard.gateway.blocks import spoken
from structguard.gateway.resource import ended
from structguard.gateway.thoughts import seal
from structguard.gateway.writing import packed
from structguard.types import (
    Completion,
    DeclineDelta,
    Finished,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCall,
    ToolCalled,
)

Event = dict[str, object]
_PREFIX = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
_DELTA = (
    b"event: response.output_text.delta\n"
    b'data: {"type":"response.output_text.delta","sequence_number":'
)
_BEHIND = b',"logprobs":[]}\n\n'
_PARTS = {"text": "output_text", "refusal": "refusal"}


class Sequence:
    """
    Writes one response. `start` is the resource as created; `told` and `feed` give the events of
    neutral ones, in order, numbered without a gap from `number` on.
    """

    def __init__(
        self, start: Mapping[str, object], number: int = 0, items: Iterable[object] = ()
    ) -> None:
        self._start = start
        self._base = str(start["id"]).removeprefix("resp_")
        self._number = number
        self.items: list[object] = [*items]
        self._kind = ""  # what the open item is: text, refusal, reasoning, or nothing
        self._id = ""
        self._place = b""  # what a delta of the open text says between its number and its text
        self._pieces: list[str] = []
        self._told: set[str] = set()
        self._held: ToolCall | None = (
            None  # the last call: what follows says whether it was cut off
        )
        self.resource: dict[str, object] | None = None

    def begin(self) -> Iterator[Event]:
        """created and in_progress."""
        yield self._event("response.created", response=self._start)
        yield self._event("response.in_progress", response=self._start)

    def told(self, events: Iterable[StreamEvent]) -> bytes:
        """What neutral events become on the wire; a delta of an open text is written as it is read."""
        out: list[bytes] = []
        for event in events:
            if isinstance(event, TextDelta) and self._kind == "text" and event.text:
                self._delta(event.text, out)
            else:
                out.extend(spoken(one, "responses") for one in self.feed(event))
        return b"".join(out)

    def _delta(self, text: str, out: list[bytes]) -> None:
        """The one event of which there are many."""
        self._pieces.append(text)
        out.extend((_DELTA, b"%d" % self._number, self._place, packed(text), _BEHIND))
        self._number += 1

    def said(self, text: str) -> Iterator[Event]:
        """A whole message."""
        yield from self._grow("text", text)
        yield from self._close("completed")

    def feed(self, event: StreamEvent) -> Iterator[Event]:
        """What one neutral event becomes; `Finished` needs `finish`."""
        match event:
            case TextDelta(text):
                yield from self._grow("text", text)
            case DeclineDelta(text):
                yield from self._grow("refusal", text)
            case ReasoningDelta(text):
                yield from self._grow("reasoning", text)
            case ToolCalled(call):
                yield from self._hold(call)
            case Finished():
                raise TypeError("the end of a response is told with finish")
            case _:
                assert_never(event)

    def finish(self, completion: Completion, told: Mapping[str, str]) -> Iterator[Event]:
        """The end: what no delta told, then exactly one terminal event."""
        if completion.reasoning_text and "reasoning" not in self._told and not self._kind:
            yield from self._grow("reasoning", completion.reasoning_text)
        if completion.text and not self._told & {"text", "refusal"}:
            kind = "refusal" if completion.finish == "declined" else "text"
            yield from self._grow(kind, completion.text)
        for call in completion.tool_calls:
            if f"call {call.id}" not in self._told:
                yield from self._hold(call)
        cut = completion.finish in {"length", "filtered"}
        status = "incomplete" if cut else "completed"
        yield from self._close(status)
        yield from self._give(status)
        if (thoughts := seal(completion)) is not None:
            yield from self._sealed(thoughts)
        self.resource = {**ended(completion, self._start, told), "output": self.items}
        kind = f"response.{self.resource['status']}"
        if completion.finish == "error":
            yield self._event("error", error=_fault("server_error", "the upstream failed"))
        yield self._event(kind, response=self.resource)

    def fail(self, code: str, message: str, kind: str = "server_error") -> Iterator[Event]:
        """The end of a response that broke: a nested error, then response.failed."""
        yield from self._give("completed")
        self.resource = {
            **self._start,
            "status": "failed",
            "output": self.items,
            "error": {"code": code, "message": message},
        }
        yield self._event("error", error=_fault(kind, message, code))
        yield self._event("response.failed", response=self.resource)

    def _event(self, kind: str, **fields: object) -> Event:
        event: Event = {"type": kind, "sequence_number": self._number, **fields}
        self._number += 1
        return event

    def _grow(self, kind: str, text: str) -> Iterator[Event]:
        if not text:
            return
        if self._kind != kind:
            yield from self._close("completed")
            yield from self._open(kind)
        self._pieces.append(text)
        if kind == "reasoning":
            name, place = "response.reasoning_summary_text.delta", self._summary()
        else:
            name, place = f"response.{_PARTS[kind]}.delta", self._content()
        logs: Event = {"logprobs": []} if kind == "text" else {}
        yield self._event(name, **place, delta=text, **logs)

    def _open(self, kind: str) -> Iterator[Event]:
        yield from self._give("completed")
        self._kind = kind
        self._told.add(kind)
        type_ = "reasoning" if kind == "reasoning" else "message"
        self._id = f"{_PREFIX[type_]}_{self._base}_{len(self.items)}"
        item: Event = {"id": self._id, "type": type_}
        item |= (
            {"summary": []}
            if type_ == "reasoning"
            else {"status": "in_progress", "role": "assistant", "content": []}
        )
        yield self._event("response.output_item.added", output_index=len(self.items), item=item)
        if kind == "reasoning":
            yield self._event(
                "response.reasoning_summary_part.added", **self._summary(), part=_part(kind, "")
            )
        else:
            place = self._content()
            self._place = b"," + packed(place).strip()[1:-1] + b',"delta":'
            yield self._event("response.content_part.added", **place, part=_part(kind, ""))

    def _close(self, status: str) -> Iterator[Event]:
        kind, text = self._kind, "".join(self._pieces)
        if not kind:
            return
        self._kind, self._pieces = "", []
        part = _part(kind, text)
        if kind == "reasoning":
            place = self._summary()
            yield self._event("response.reasoning_summary_text.done", **place, text=text)
            yield self._event("response.reasoning_summary_part.done", **place, part=part)
            item: Event = {"id": self._id, "type": "reasoning", "summary": [part]}
        else:
            place = self._content()
            logs: Event = {"logprobs": []} if kind == "text" else {}
            name = f"response.{_PARTS[kind]}.done"
            yield self._event(name, **place, **{kind: text}, **logs)
            yield self._event("response.content_part.done", **place, part=part)
            item = _message(self._id, part, status)
        yield self._done(item)

    def _hold(self, call: ToolCall) -> Iterator[Event]:
        self._told.add(f"call {call.id}")
        yield from self._close("completed")
        yield from self._give("completed")
        self._held = call

    def _give(self, status: str) -> Iterator[Event]:
        """The call that was held, if one was."""
        if self._held is not None:
            call, self._held = self._held, None
            yield from self._call(call, status)

    def _call(self, call: ToolCall, status: str) -> Iterator[Event]:
        item: Event = {
            "id": f"fc_{self._base}_{len(self.items)}",
            "type": "function_call",
            "status": "in_progress",
            "call_id": call.id,
            "name": call.name,
            "arguments": "",
        }
        place: Event = {"item_id": item["id"], "output_index": len(self.items)}
        yield self._event("response.output_item.added", output_index=len(self.items), item=item)
        name = "response.function_call_arguments"
        if call.arguments:
            yield self._event(f"{name}.delta", **place, delta=call.arguments)
        yield self._event(f"{name}.done", **place, name=call.name, arguments=call.arguments)
        yield self._done({**item, "status": status, "arguments": call.arguments})

    def _sealed(self, thoughts: str) -> Iterator[Event]:
        """The model's own form of what it thought: known only now, and wanted back as it is."""
        id_ = f"rs_{self._base}_{len(self.items)}"
        item: Event = {"id": id_, "type": "reasoning", "summary": [], "encrypted_content": thoughts}
        yield self._event("response.output_item.added", output_index=len(self.items), item=item)
        yield self._done(item)

    def _done(self, item: Event) -> Event:
        event = self._event("response.output_item.done", output_index=len(self.items), item=item)
        self.items.append(item)
        return event

    def _content(self) -> Event:
        return {"item_id": self._id, "output_index": len(self.items), "content_index": 0}

    def _summary(self) -> Event:
        return {"item_id": self._id, "output_index": len(self.items), "summary_index": 0}


def message_item(id_: str, text: str) -> Event:
    """A whole message of the answer's text."""
    return _message(id_, _part("text", text), "completed")


def _message(id_: str, part: Event, status: str) -> Event:
    return {
        "id": id_,
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": [part],
    }


def _part(kind: str, text: str) -> Event:
    match kind:
        case "reasoning":
            return {"type": "summary_text", "text": text}
        case "refusal":
            return {"type": "refusal", "refusal": text}
        case _:
            return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _fault(kind: str, message: str, code: str | None = None) -> Event:
    return {"type": kind, "code": code, "message": message, "param": None}
