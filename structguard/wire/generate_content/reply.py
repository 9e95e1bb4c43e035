"""Google generateContent reply → Completion."""

from __future__ import annotations

from collections.abc import Mapping

from structguard.types import (
    Completion,
    Failure,
    Finish,
    Format,
    Reasoning,
    Usage,
    as_mapping,
    as_sequence,
    as_text,
)
from structguard.wire.base import DEFAULTS, NO_HEADERS, BadReply, Headers, WireOptions
from structguard.wire.faults import failure_in
from structguard.wire.generate_content.request import LOCAL_ID
from structguard.wire.headers import metadata
from structguard.wire.payload import count, dumps, present
from structguard.wire.reply import Reply, bad, facts_of, finish_in, json_object, tool_call

_FILTERED = (
    "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY"
    " IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR"
)
_FAILED = (
    "MALFORMED_FUNCTION_CALL UNEXPECTED_TOOL_CALL TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE"
    " MALFORMED_RESPONSE OTHER IMAGE_OTHER NO_IMAGE"
)
FINISHES: Mapping[object, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    **dict.fromkeys(_FILTERED.split(), "filtered"),
    **dict.fromkeys(_FAILED.split(), "error"),
}
_NOTES = ("groundingMetadata", "citationMetadata", "urlContextMetadata", "finishMessage")


def decode_reply(
    body: bytes,
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    options: WireOptions = DEFAULTS,
) -> Completion:
    """The first candidate. Source: Gemini API reference, GenerateContentResponse."""
    del options  # the same for every endpoint
    with facts_of(headers):
        data = json_object(body)
        raise_error(data)
        candidate = first_candidate(data)
        if candidate is None:
            raise bad("the reply has no candidates", body)
        reply = Reply(
            finish=finish_in(FINISHES, candidate.get("finishReason")),
            usage=usage_of(data.get("usageMetadata")),
            model=as_text(data.get("modelVersion")),
            id=as_text(data.get("responseId")),
            metadata=metadata(headers, **notes(candidate)),
        )
        for part in parts_of(candidate):
            read_part(part, reply)
        return reply.completion(format)


def raise_error(data: Mapping[str, object]) -> None:
    """An error object, or a prompt that was blocked, where an answer should be."""
    if data.get("error"):
        raise BadReply(failure_in(data, dumps(data)))
    reason = (as_mapping(data.get("promptFeedback")) or {}).get("blockReason")
    if reason:
        message = f"the prompt was blocked: {reason}"
        raise BadReply(
            Failure(status=200, body=dumps(data), message=message, code="prompt_blocked")
        )


def first_candidate(data: Mapping[str, object]) -> Mapping[str, object] | None:
    """The one answer that is read."""
    candidates = as_sequence(data.get("candidates"))
    return as_mapping(candidates[0]) if candidates else None


def notes(candidate: Mapping[str, object]) -> dict[str, object]:
    """What a candidate says beside its answer, the finish reason where it is no plain end."""
    reason = as_text(candidate.get("finishReason"))
    return present(
        finish_reason=reason if reason not in {"STOP", "MAX_TOKENS"} else None,
        **{key: candidate.get(key) for key in _NOTES},
    )


def parts_of(candidate: Mapping[str, object]) -> list[Mapping[str, object]]:
    """The parts of a candidate's content."""
    content = as_mapping(candidate.get("content")) or {}
    return [as_mapping(part) or {} for part in as_sequence(content.get("parts")) or ()]


def read_part(part: Mapping[str, object], reply: Reply) -> None:
    """One part: a call, a thought, text (with the signature it may carry), or none of ours."""
    call = as_mapping(part.get("functionCall"))
    signature = as_text(part.get("thoughtSignature"))
    if call is not None:
        id_ = as_text(call.get("id")) or f"{LOCAL_ID}{reply.id or ''}_{len(reply.calls)}"
        name = as_text(call.get("name")) or ""
        reply.call(tool_call(id_, name, dumps(call.get("args", {})), signature))
    elif part.get("thought"):
        text = as_text(part.get("text")) or ""
        reply.think(Reasoning(text=text, signature=signature, raw={"thought": True}))
    elif "text" in part:
        if signature is not None:
            reply.reasoning.append(
                Reasoning(signature=signature, raw={"thoughtSignature": signature})
            )
        reply.say(as_text(part.get("text")) or "")
    else:
        reply.keep(part)


def usage_of(data: object) -> Usage | None:
    """Token counts; output excludes the thoughts, as the vendor counts."""
    usage = as_mapping(data)
    if usage is None:
        return None
    return Usage(
        input=count(usage.get("promptTokenCount")),
        output=count(usage.get("candidatesTokenCount")),
        total=count(usage.get("totalTokenCount")),
        reasoning=count(usage.get("thoughtsTokenCount")),
        cached_read=count(usage.get("cachedContentTokenCount")),
    )
