"""Google streamGenerateContent (alt=sse) chunks → stream events."""

from __future__ import annotations

from collections.abc import Mapping

from structguard.types import (
    Completion,
    Finished,
    Format,
    Reasoning,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCalled,
    as_mapping,
    as_sequence,
    as_text,
)
from structguard.wire.base import DEFAULTS, NO_HEADERS, BadReply, Headers, WireOptions
from structguard.wire.generate_content.reply import (
    FINISHES,
    decode_reply,
    first_candidate,
    notes,
    parts_of,
    raise_error,
    read_part,
    usage_of,
)
from structguard.wire.headers import metadata
from structguard.wire.payload import loads
from structguard.wire.reply import Reply, facts_of, finish_in, finished
from structguard.wire.stream import SseDecoder, truncated


def open_stream(
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    options: WireOptions = DEFAULTS,
) -> SseDecoder:
    """A decoder for one streamed reply. Source: Gemini API reference, streamGenerateContent."""
    return SseDecoder(
        _Chunks(headers, format),
        lambda body: _whole(body, headers, format, options),
        headers,
    )


def _whole(
    body: bytes,
    headers: Headers,
    format: Format | None,  # noqa: A002  the field's word
    options: WireOptions,
) -> Completion:
    """A body that is no event stream: one reply, or the list of chunks that comes without alt=sse."""
    try:
        chunks = as_sequence(loads(body))
    except ValueError:
        chunks = None
    if chunks is None:
        return decode_reply(body, headers, format=format, options=options)
    reader, events = _Chunks(headers, format), list[StreamEvent]()
    with facts_of(headers):
        for chunk in chunks:
            reader.take(as_mapping(chunk) or {}, events)
        whole = reader.end(events)
        last = events[-1] if events else None
        if not whole or not isinstance(last, Finished):
            raise BadReply(truncated(body))
    return last.completion


class _Chunks:
    """
    Reads chunks of the first candidate. Google sends no terminal event: the reply is whole when
    the bytes end after a finish reason. Thoughts that follow one another are one.
    """

    __slots__ = ("_format", "_reply", "_stopped", "_thought")

    def __init__(self, headers: Headers, format: Format | None) -> None:  # noqa: A002
        self._format = format
        self._reply = Reply(metadata=metadata(headers))
        self._thought: list[str] = []
        self._stopped = False

    def take(self, event: Mapping[str, object], out: list[StreamEvent]) -> bool:
        """One chunk; never the last one for sure."""
        raise_error(event)
        reply = self._reply
        reply.id = reply.id or as_text(event.get("responseId"))
        reply.model = reply.model or as_text(event.get("modelVersion"))
        if event.get("usageMetadata"):
            reply.usage = usage_of(event["usageMetadata"])
        candidate = first_candidate(event)
        if candidate is None:
            return False
        for part in parts_of(candidate):
            self._part(part, out)
        if (reason := candidate.get("finishReason")) is not None:
            self._stopped = True
            reply.finish = finish_in(FINISHES, reason)
        if len(candidate) > 1:  # more than its content
            reply.metadata.update(notes(candidate))
        return False

    def end(self, out: list[StreamEvent]) -> bool:
        """The end of the bytes: whole if a finish reason came before."""
        self._close_thought(None)
        if self._stopped:
            out.extend(finished(self._reply, self._format))
        return self._stopped

    def _part(self, part: Mapping[str, object], out: list[StreamEvent]) -> None:
        text = as_text(part.get("text")) or ""
        if part.get("thought"):
            if text:
                self._thought.append(text)
                out.append(ReasoningDelta(text))
            if signature := as_text(part.get("thoughtSignature")):
                self._close_thought(signature)
            return
        self._close_thought(None)
        before = len(self._reply.calls)
        read_part(part, self._reply)
        if text:
            out.append(TextDelta(text))
        out.extend(ToolCalled(call) for call in self._reply.calls[before:])

    def _close_thought(self, signature: str | None) -> None:
        if self._thought or signature is not None:
            whole = "".join(self._thought)
            self._reply.think(Reasoning(text=whole, signature=signature, raw={"thought": True}))
            self._thought.clear()
