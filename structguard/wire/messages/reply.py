"""Anthropic Messages reply → Completion."""

from __future__ import annotations

from collections.abc import Mapping

from structguard.types import (
    Completion,
    Finish,
    Format,
    Reasoning,
    Usage,
    as_mapping,
    as_sequence,
    as_text,
)
from structguard.wire.base import DEFAULTS, NO_HEADERS, BadReply, Headers, WireOptions
from structguard.wire.encoding import forced_name
from structguard.wire.faults import failure_in
from structguard.wire.headers import metadata
from structguard.wire.payload import count, dumps, present
from structguard.wire.reply import Reply, bad, facts_of, finish_in, json_object, tool_call

FINISHES: Mapping[object, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "stop",  # a call makes it tool_calls; a forced tool's answer is none
    "refusal": "declined",
}


def decode_reply(
    body: bytes,
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    options: WireOptions = DEFAULTS,
) -> Completion:
    """A message. Source: Anthropic API reference, Messages."""
    with facts_of(headers):
        data = json_object(body)
        raise_error(data)
        content = as_sequence(data.get("content"))
        if content is None:
            raise bad("the reply has no content", body)
        reply = Reply(
            finish=finish_in(FINISHES, data.get("stop_reason")),
            usage=usage_of(data.get("usage")),
            model=as_text(data.get("model")),
            id=as_text(data.get("id")),
            metadata=metadata(headers, **notes(data)),
        )
        forced = forced_name(format, options)
        for block in content:
            read_block(as_mapping(block) or {}, reply, forced)
        return reply.completion(format)


def raise_error(data: Mapping[str, object]) -> None:
    """An error object where an answer should be."""
    if data.get("error"):
        raise BadReply(failure_in(data, dumps(data)))


def notes(data: Mapping[str, object]) -> dict[str, object]:
    """What a message says beside its answer: the stop reason where it is no plain end, the tier."""
    reason = as_text(data.get("stop_reason"))
    usage = as_mapping(data.get("usage")) or {}
    return present(
        stop_reason=reason if reason not in {"end_turn", "tool_use", "max_tokens"} else None,
        stop_sequence=data.get("stop_sequence"),
        stop_details=data.get("stop_details"),
        service_tier=usage.get("service_tier"),
    )


def read_block(
    block: Mapping[str, object], reply: Reply, forced: str | None, arguments: str = ""
) -> None:
    """One block; `arguments` is a streamed call's own text, the forced tool's input is the answer."""
    match block.get("type"):
        case "text":
            reply.say(as_text(block.get("text")) or "")
            reply.note("citations", block.get("citations"))
        case "thinking" | "redacted_thinking":
            reply.think(thinking_of(block))
        case "tool_use":
            text = arguments or dumps(block.get("input"))
            name = as_text(block.get("name")) or ""
            if name == forced:
                reply.say(text)
            else:
                reply.call(tool_call(as_text(block.get("id")) or "", name, text))
        case _:
            reply.keep(block)


def thinking_of(block: Mapping[str, object]) -> Reasoning:
    """One thinking block; `raw` is what goes back."""
    return Reasoning(
        text=as_text(block.get("thinking")) or "",
        encrypted=as_text(block.get("data")),
        signature=as_text(block.get("signature")),
        raw=block,
    )


def usage_of(data: object) -> Usage | None:
    """Token counts; input excludes what the cache gave and took, as the vendor counts."""
    usage = as_mapping(data)
    if usage is None:
        return None
    details = as_mapping(usage.get("output_tokens_details")) or {}
    return Usage(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        reasoning=count(details.get("thinking_tokens")),
        cached_read=count(usage.get("cache_read_input_tokens")),
        cached_write=count(usage.get("cache_creation_input_tokens")),
    )
