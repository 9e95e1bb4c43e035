"""Bedrock Converse reply → Completion."""

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
from structguard.wire.asking import forced_name
from structguard.wire.base import DEFAULTS, NO_HEADERS, Headers, WireOptions
from structguard.wire.headers import metadata
from structguard.wire.payload import count, dumps
from structguard.wire.reply import Reply, bad, facts_of, finish_in, json_object, tool_call

FINISHES: Mapping[object, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "stop",  # a call makes it tool_calls; a forced tool's answer is none
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "filtered",
    "content_filtered": "filtered",
    "refusal": "declined",
    "malformed_model_output": "error",
    "malformed_tool_use": "error",
}


def decode_reply(
    body: bytes,
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    options: WireOptions = DEFAULTS,
) -> Completion:
    """A converse reply. Source: Amazon Bedrock Runtime API reference, Converse."""
    with facts_of(headers):
        given = json_object(body)
        message = as_mapping((as_mapping(given.get("output")) or {}).get("message"))
        content = as_sequence(message.get("content")) if message is not None else None
        if content is None:
            raise bad("the reply has no output message", body)
        reply = Reply(
            finish=finish_in(FINISHES, given.get("stopReason")),
            usage=usage_of(given.get("usage")),
            metadata=metadata(headers, **notes(given)),
        )
        forced = forced_name(format, options)
        for block in content:
            read_block(as_mapping(block) or {}, reply, forced)
        return reply.completion(format)


def notes(given: Mapping[str, object]) -> dict[str, object]:
    """What a reply says beside its answer."""
    reason = as_text(given.get("stopReason"))
    tier = as_mapping(given.get("serviceTier")) or {}
    return {
        "stop_reason": reason if reason not in {"end_turn", "tool_use", "max_tokens"} else None,
        "service_tier": tier.get("type"),
        "trace": given.get("trace"),
        "fields": given.get("additionalModelResponseFields"),
    }


def read_block(
    block: Mapping[str, object], reply: Reply, forced: str | None, arguments: str = ""
) -> None:
    """One block; `arguments` is a streamed call's own text, the forced tool's input is the answer."""
    use = as_mapping(block.get("toolUse"))
    thought = as_mapping(block.get("reasoningContent"))
    if use is not None:
        given = arguments or dumps(use.get("input", {}))
        name = as_text(use.get("name")) or ""
        if name == forced:
            reply.say(given)
        else:
            reply.call(tool_call(as_text(use.get("toolUseId")) or "", name, given))
    elif thought is not None:
        reply.think(thinking_of(thought))
    elif "text" in block:
        reply.say(as_text(block.get("text")) or "")
    else:
        reply.keep(block)


def thinking_of(thought: Mapping[str, object]) -> Reasoning:
    """One reasoning block; `raw` is what goes back."""
    told = as_mapping(thought.get("reasoningText")) or {}
    return Reasoning(
        text=as_text(told.get("text")) or "",
        encrypted=as_text(thought.get("redactedContent")),
        signature=as_text(told.get("signature")),
        raw=thought,
    )


def usage_of(given: object) -> Usage | None:
    """Token counts; absent → None."""
    usage = as_mapping(given)
    if usage is None:
        return None
    return Usage(
        input=count(usage.get("inputTokens")),
        output=count(usage.get("outputTokens")),
        total=count(usage.get("totalTokens")),
        cached_read=count(usage.get("cacheReadInputTokens")),
        cached_write=count(usage.get("cacheWriteInputTokens")),
    )
