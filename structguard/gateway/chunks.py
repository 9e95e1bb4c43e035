"""Neutral stream events → Chat Completions chunks. Source: OpenAI API reference, Chat streaming."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import assert_never

from structguard.gateway.blocks import spoken
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
from structguard.wire.chat.reply import encode_finish, encode_usage

Chunk = dict[str, object]


@dataclass(slots=True)
class Chunks:
    """Writes one streamed chat completion; `usage`: the client asked for the usage chunk."""

    id: str
    model: str
    created: int
    usage: bool
    _calls: int = 0
    _told: set[str] = field(default_factory=set[str])
    _around: tuple[bytes, bytes] | None = None  # what stands before and behind a delta's text

    def told(self, events: Iterable[StreamEvent]) -> bytes:
        """What neutral events become on the wire; a delta of the text is written as it is read."""
        out: list[bytes] = []
        for event in events:
            if isinstance(event, TextDelta):
                self._delta(event.text, out)
            else:
                out.extend(spoken(chunk, "chat") for chunk in self.feed(event))
        return b"".join(out)

    def _delta(self, text: str, out: list[bytes]) -> None:
        """The one chunk of which there are many."""
        if self._around is None:
            self._told.add("text")
            empty = b'"content":""'  # inside a name its quotes would be escaped
            before, _, behind = spoken(self._chunk({"content": ""}), "chat").partition(empty)
            self._around = before + empty[:-2], behind
        before, behind = self._around
        out.extend((before, packed(text), behind))

    def begin(self) -> Chunk:
        """The chunk that names the role."""
        return self._chunk({"role": "assistant", "content": ""})

    def feed(self, event: StreamEvent) -> Iterator[Chunk]:
        """What one neutral event becomes; `Finished` needs `finish`."""
        match event:
            case TextDelta(text) | DeclineDelta(text):
                self._told.add("text")
                key = "content" if isinstance(event, TextDelta) else "refusal"
                yield self._chunk({key: text})
            case ReasoningDelta(text):
                yield self._chunk({"reasoning_content": text})
            case ToolCalled(call):
                yield self._call(call)
            case Finished():
                raise TypeError("the end of a completion is told with finish")
            case _:
                assert_never(event)

    def finish(self, completion: Completion, told: Mapping[str, str]) -> Iterator[Chunk]:
        """What no delta told, the finish, and the usage where it was asked for."""
        if completion.text and "text" not in self._told:
            key = "refusal" if completion.finish == "declined" else "content"
            yield self._chunk({key: completion.text})
        for call in completion.tool_calls:
            if call.id not in self._told:
                yield self._call(call)
        yield self._chunk({}, encode_finish(completion.finish), metadata=dict(told))
        if self.usage:
            counted = encode_usage(completion.usage)
            yield {**self._chunk({}), "choices": [], "usage": counted}

    def _call(self, call: ToolCall) -> Chunk:
        self._told.add(call.id)
        said = {
            "index": self._calls,
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        self._calls += 1
        return self._chunk({"tool_calls": [said]})

    def _chunk(self, delta: Chunk, finish: str | None = None, **more: object) -> Chunk:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [choice],
            **more,
        }
