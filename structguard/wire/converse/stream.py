"""Bedrock ConverseStream events, decoded by botocore → stream events."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from structguard.types import (
    Failure,
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
from structguard.wire.converse.reply import FINISHES, is_hosted, notes, read_block, usage_of
from structguard.wire.encoding import forced_name
from structguard.wire.headers import metadata
from structguard.wire.payload import dumps, json_or_text
from structguard.wire.reply import Reply, finish_in, finished
from structguard.wire.stream import EventDecoder

_STATUSES: Mapping[str, int] = {  # of the exceptions a stream may hold
    "validationexception": 400,
    "throttlingexception": 429,
    "internalserverexception": 500,
    "serviceunavailableexception": 503,
    "modelstreamerrorexception": 424,
    "modeltimeoutexception": 408,
}


def open_stream(
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    options: WireOptions = DEFAULTS,
) -> EventDecoder:
    """
    A decoder for one streamed reply: `feed_event` takes botocore's mapping, `feed` its JSON.
    Source: Amazon Bedrock Runtime API reference, ConverseStream.
    """
    return EventDecoder(_Events(headers, format, forced_name(format, options)), headers)


class _Events:
    """Reads messageStart … messageStop, metadata; text blocks have no start, tools have one."""

    __slots__ = ("_block", "_forced", "_format", "_grown", "_reply", "_results", "_stopped")

    def __init__(
        self,
        headers: Headers,
        format: Format | None,  # noqa: A002  the field's word
        forced: str | None,
    ) -> None:
        self._format = format
        self._forced = forced
        self._reply = Reply(metadata=metadata(headers))
        self._block: Mapping[str, object] = {}  # the tool that is open
        self._grown: dict[str, list[str]] = {}
        self._results: list[object] = []  # of a tool that Bedrock ran itself
        self._stopped = False

    def take(self, event: Mapping[str, object], out: list[StreamEvent]) -> bool:
        """One event; True for metadata, which comes last."""
        for name, value in event.items():
            fields = as_mapping(value) or {}
            match name:
                case "contentBlockDelta":
                    self._delta(as_mapping(fields.get("delta")) or {}, out)
                case "contentBlockStart":
                    self._close(out)
                    self._block = as_mapping(fields.get("start")) or {}
                case "contentBlockStop":
                    self._close(out)
                case "messageStop":
                    self._close(out)
                    self._stop(fields)
                case "metadata":
                    self._reply.usage = usage_of(fields.get("usage"))
                    self._note(fields)
                    return self.end(out)
                case _ if name == "error" or name.endswith("Exception"):
                    raise _fault(name, fields)
                case _:
                    pass  # messageStart says only the role
        return False

    def end(self, out: list[StreamEvent]) -> bool:
        """metadata, or the end of the events: whole if the message had stopped."""
        if self._stopped:
            out.extend(finished(self._reply, self._format))
        return self._stopped

    def _delta(self, delta: Mapping[str, object], out: list[StreamEvent]) -> None:
        if text := as_text(delta.get("text")):
            self._grow("text", text)
            out.append(TextDelta(text))
        if (use := as_mapping(delta.get("toolUse"))) is not None:
            arguments = as_text(use.get("input")) or ""
            self._grow("input", arguments)
            if arguments and self._is_forced():
                out.append(TextDelta(arguments))
        if (thought := as_mapping(delta.get("reasoningContent"))) is not None:
            self._think(thought, out)
        self._results += as_sequence(delta.get("toolResult")) or ()
        if (citation := delta.get("citation")) is not None:
            self._reply.note("citations", [citation])

    def _think(self, thought: Mapping[str, object], out: list[StreamEvent]) -> None:
        for key in ("text", "signature"):
            if text := as_text(thought.get(key)):
                self._grow(f"reasoning {key}", text)
                if key == "text":
                    out.append(ReasoningDelta(text))
        redacted = thought.get("redactedContent")
        if isinstance(redacted, bytes):
            redacted = base64.b64encode(redacted).decode()
        if isinstance(redacted, str):
            self._grow("redacted", redacted)

    def _grow(self, key: str, text: str) -> None:
        self._grown.setdefault(key, []).append(text)

    def _is_forced(self) -> bool:
        use = as_mapping(self._block.get("toolUse")) or {}
        return self._forced is not None and use.get("name") == self._forced

    def _close(self, out: list[StreamEvent]) -> None:
        """The open block is whole."""
        grown = {key: "".join(pieces) for key, pieces in self._grown.items()}
        before = len(self._reply.calls)
        if "toolResult" in self._block:
            start = as_mapping(self._block["toolResult"]) or {}
            self._reply.keep({"toolResult": {**start, "content": self._results}})
        elif "toolUse" in self._block:
            arguments = grown.get("input", "")
            read_block(_with_input(self._block, arguments), self._reply, self._forced, arguments)
            if self._is_forced() and not arguments:  # an answer without a member
                out.append(TextDelta(self._reply.text[-1]))
        elif "redacted" in grown:
            read_block(
                {"reasoningContent": {"redactedContent": grown["redacted"]}}, self._reply, None
            )
        elif "reasoning text" in grown or "reasoning signature" in grown:
            reasoning = {
                key: grown[f"reasoning {key}"]
                for key in ("text", "signature")
                if f"reasoning {key}" in grown
            }
            read_block({"reasoningContent": {"reasoningText": reasoning}}, self._reply, None)
        elif "text" in grown:
            self._reply.say(grown["text"])
        out.extend(ToolCalled(call) for call in self._reply.calls[before:])
        self._block, self._grown, self._results = {}, {}, []

    def _stop(self, fields: Mapping[str, object]) -> None:
        self._stopped = True
        self._reply.finish = finish_in(FINISHES, fields.get("stopReason"))
        self._note(fields)

    def _note(self, fields: Mapping[str, object]) -> None:
        self._reply.metadata = {**self._reply.metadata, **notes(fields)}


def _with_input(block: Mapping[str, object], arguments: str) -> Mapping[str, object]:
    """The block of a hosted tool's call, which is kept, with the input that was streamed."""
    use = as_mapping(block.get("toolUse")) or {}
    if not is_hosted(use) or not arguments:
        return block
    return {"toolUse": {**use, "input": json_or_text(arguments)}}


def _fault(name: str, fields: Mapping[str, object]) -> BadReply:
    """An exception inside the stream; its name is its code. An `error` is one without a name."""
    unnamed = name == "error"
    if unnamed:
        name = as_text(fields.get("code")) or name
    message = as_text(fields.get("message")) or as_text(fields.get("Message")) or name
    return BadReply(
        Failure(
            status=_STATUSES.get(name.lower(), 500 if unnamed else None),
            body=dumps({"__type": name, "message": message}),  # as a whole reply tells it
            message=message,
            code=name,
        )
    )
