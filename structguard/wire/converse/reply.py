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
from structguard.wire.base import DEFAULTS, NO_HEADERS, Headers, WireOptions
from structguard.wire.encoding import forced_name
from structguard.wire.headers import metadata
from structguard.wire.payload import count, dumps, present
from structguard.wire.reply import Reply, bad, facts_of, finish_in, json_object, texts, tool_call

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
        data = json_object(body)
        message = as_mapping((as_mapping(data.get("output")) or {}).get("message"))
        content = as_sequence(message.get("content")) if message is not None else None
        if content is None:
            raise bad("the reply has no output message", body)
        reply = Reply(
            finish=finish_in(FINISHES, data.get("stopReason")),
            usage=usage_of(data.get("usage")),
            metadata=metadata(headers, **notes(data)),
        )
        forced = forced_name(format, options)
        for block in content:
            read_block(as_mapping(block) or {}, reply, forced)
        return reply.completion(format)


def notes(data: Mapping[str, object]) -> dict[str, object]:
    """What a reply says beside its answer."""
    reason = as_text(data.get("stopReason"))
    tier = as_mapping(data.get("serviceTier")) or {}
    return present(
        stop_reason=reason if reason not in {"end_turn", "tool_use", "max_tokens"} else None,
        service_tier=tier.get("type"),
        trace=data.get("trace"),
        fields=data.get("additionalModelResponseFields"),
    )


def read_block(
    block: Mapping[str, object], reply: Reply, forced: str | None, arguments: str = ""
) -> None:
    """One block; `arguments` is a streamed call's own text, the forced tool's input is the answer."""
    use = as_mapping(block.get("toolUse"))
    thought = as_mapping(block.get("reasoningContent"))
    cited = as_mapping(block.get("citationsContent"))
    if use is not None and not is_hosted(use):
        text = arguments or dumps(use.get("input", {}))
        name = as_text(use.get("name")) or ""
        if name == forced:
            reply.say(text)
        else:
            reply.call(tool_call(as_text(use.get("toolUseId")) or "", name, text))
    elif thought is not None:
        reply.think(thinking_of(thought))
    elif "text" in block:
        reply.say(as_text(block.get("text")) or "")
    elif cited is not None:
        reply.say(texts(as_sequence(cited.get("content"))))
        reply.note("citations", cited.get("citations"))
    else:
        reply.keep(block)


def is_hosted(use: Mapping[str, object]) -> bool:
    """Whether Bedrock ran the tool itself (a system tool): its call is nobody's to make."""
    return use.get("type") == "server_tool_use"


def thinking_of(thought: Mapping[str, object]) -> Reasoning:
    """One reasoning block; `raw` is what goes back."""
    reasoning = as_mapping(thought.get("reasoningText")) or {}
    return Reasoning(
        text=as_text(reasoning.get("text")) or "",
        encrypted=as_text(thought.get("redactedContent")),
        signature=as_text(reasoning.get("signature")),
        raw=thought,
    )


def usage_of(data: object) -> Usage | None:
    """Token counts; absent → None."""
    usage = as_mapping(data)
    if usage is None:
        return None
    return Usage(
        input=count(usage.get("inputTokens")),
        output=count(usage.get("outputTokens")),
        total=count(usage.get("totalTokens")),
        cached_read=count(usage.get("cacheReadInputTokens")),
        cached_write=count(usage.get("cacheWriteInputTokens")),
    )
