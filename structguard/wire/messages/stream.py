"""Anthropic Messages events → stream events."""

from __future__ import annotations

from collections.abc import Mapping

from structguard.types import (
    Format,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCalled,
    as_mapping,
    as_text,
)
from structguard.wire.base import DEFAULTS, NO_HEADERS, Headers, WireOptions
from structguard.wire.encoding import forced_name
from structguard.wire.headers import metadata
from structguard.wire.messages.reply import (
    FINISHES,
    decode_reply,
    notes,
    raise_error,
    read_block,
    usage_of,
)
from structguard.wire.payload import as_dict, as_list, json_or_text, present
from structguard.wire.reply import Reply, bad, finish_in, finished
from structguard.wire.stream import SseDecoder

_GROWS: Mapping[object, tuple[str, str]] = {  # delta type → key in the delta, key in the block
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "partial_json"),
}


def open_stream(
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    options: WireOptions = DEFAULTS,
) -> SseDecoder:
    """A decoder for one streamed message. Source: Anthropic API reference, Streaming messages."""
    return SseDecoder(
        _Events(headers, format, forced_name(format, options)),
        lambda body: decode_reply(body, headers, format=format, options=options),
        headers,
    )


class _Events:
    """Reads message_start … message_stop; blocks come one after another, each whole at its stop."""

    __slots__ = ("_blocks", "_forced", "_format", "_grown", "_message", "_reply")

    def __init__(
        self,
        headers: Headers,
        format: Format | None,  # noqa: A002  the field's word
        forced: str | None,
    ) -> None:
        self._format = format
        self._forced = forced
        self._reply = Reply(metadata=metadata(headers))
        self._message: dict[str, object] = {}
        self._blocks: dict[int, dict[str, object]] = {}
        self._grown: dict[int, dict[str, list[str]]] = {}

    def take(self, event: Mapping[str, object], out: list[StreamEvent]) -> bool:
        """One event; True for message_stop."""
        match event.get("type"):
            case "content_block_delta":
                self._delta(event, out)
            case "content_block_start":
                at = _index(event)
                self._blocks[at] = dict(as_mapping(event.get("content_block")) or {})
                self._grown[at] = {}
                self._begin(self._blocks[at], out)
            case "content_block_stop":
                self._stop(_index(event), out)
            case "message_start":
                self._message = dict(as_mapping(event.get("message")) or {})
            case "message_delta":
                self._message.update(as_mapping(event.get("delta")) or {})
                usage = as_mapping(self._message.get("usage")) or {}
                counted = present(**(as_mapping(event.get("usage")) or {}))  # null: as it was
                self._message["usage"] = {**usage, **counted}
            case "message_stop":
                for at in [*self._grown]:  # what a server began and did not end
                    self._stop(at, out)
                self._end(out)
                return True
            case _:  # ping, and kinds that do not exist yet; an error has an error object
                raise_error(event)
        return False

    def end(self, out: list[StreamEvent]) -> bool:
        """The bytes ended: always too early, as message_stop stops the reading."""
        del out
        return False

    def _begin(self, block: Mapping[str, object], out: list[StreamEvent]) -> None:
        """A block may start with some of its text."""
        if text := as_text(block.get("text")):
            out.append(TextDelta(text))
        if thought := as_text(block.get("thinking")):
            out.append(ReasoningDelta(thought))

    def _delta(self, event: Mapping[str, object], out: list[StreamEvent]) -> None:
        delta = as_dict(event.get("delta")) or {}
        if delta.get("type") == "citations_delta":
            self._cite(self._blocks.get(_index(event), {}), delta.get("citation"))
            return
        key, name = _GROWS.get(as_text(delta.get("type")), ("", ""))
        text = delta.get(key)
        if not isinstance(text, str) or not text:
            return
        at = _index(event)
        self._grown.setdefault(at, {}).setdefault(name, []).append(text)
        if name == "text":
            out.append(TextDelta(text))
        elif name == "thinking":
            out.append(ReasoningDelta(text))
        elif name == "partial_json" and self._is_forced(at):
            out.append(TextDelta(text))

    def _cite(self, block: dict[str, object], citation: object) -> None:
        if block.get("type") == "text":
            block["citations"] = [*(as_list(block.get("citations")) or ()), citation]

    def _is_forced(self, at: int) -> bool:
        return self._forced is not None and self._blocks.get(at, {}).get("name") == self._forced

    def _stop(self, at: int, out: list[StreamEvent]) -> None:
        forced = self._is_forced(at)
        block = self._blocks.pop(at, None)
        if block is None:
            raise bad(f"content block {at!r} ends and never began")
        grown = {name: "".join(pieces) for name, pieces in self._grown.pop(at, {}).items()}
        arguments = grown.pop("partial_json", "")
        for name, text in grown.items():
            block[name] = (as_text(block.get(name)) or "") + text
        if arguments and block.get("type") != "tool_use":
            block["input"] = json_or_text(arguments)  # a hosted tool's call, kept whole
        before = len(self._reply.calls)
        read_block(block, self._reply, self._forced, arguments)
        if forced and not arguments:  # an answer that came whole with its start
            out.append(TextDelta(self._reply.text[-1]))
        out.extend(ToolCalled(call) for call in self._reply.calls[before:])

    def _end(self, out: list[StreamEvent]) -> None:
        message, reply = self._message, self._reply
        reply.finish = finish_in(FINISHES, message.get("stop_reason"))
        reply.usage = usage_of(message.get("usage"))
        reply.id, reply.model = as_text(message.get("id")), as_text(message.get("model"))
        reply.metadata = {**reply.metadata, **notes(message)}
        out.extend(finished(reply, self._format))


def _index(event: Mapping[str, object]) -> int:
    at = event.get("index")
    return at if isinstance(at, int) else 0
