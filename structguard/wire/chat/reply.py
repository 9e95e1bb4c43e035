"""Chat Completions reply → Completion, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from structguard.types import (
    Completion,
    Finish,
    Format,
    Reasoning,
    ToolCall,
    Usage,
    as_mapping,
    as_sequence,
    as_text,
)
from structguard.wire.base import DEFAULTS, NO_HEADERS, BadReply, Body, Headers, WireOptions
from structguard.wire.chat.request import REASONING_FIELDS, THOUGHT_PART
from structguard.wire.faults import failure_in
from structguard.wire.headers import metadata
from structguard.wire.payload import count, dumps, present
from structguard.wire.reply import (
    Reply,
    bad,
    facts_of,
    json_object,
    openai_counts,
    texts,
    tool_call,
)

_FINISHES: Mapping[str, Finish] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filtered",
    # other makers' words, in their API references
    "model_length": "length",  # Mistral: the window is full
    "model_context_window_exceeded": "length",  # Z.ai
    "max_tokens": "length",
    "sensitive": "filtered",  # Z.ai
}
_BROKE = frozenset({
    "error",  # OpenRouter, Mistral
    "insufficient_system_resource",  # DeepSeek
    "network_error",  # Z.ai
    "abort",  # vLLM, SGLang: the engine gave the request up
})  # fmt: skip
"""Finish reasons of an endpoint that failed in the middle: what came is no answer."""
_FINISH_REASONS: Mapping[Finish, str] = {
    "filtered": "content_filter",
    "declined": "stop",
}
NOTES = ("service_tier", "system_fingerprint", "citations", "search_results")
"""What stands beside the choices and is kept; the last two are Perplexity's and xAI's."""


def decode_reply(
    body: bytes,
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    options: WireOptions = DEFAULTS,
) -> Completion:
    """The first choice of a chat completion. Source: OpenAI API reference, Chat."""
    del options  # the same for every endpoint
    with facts_of(headers):
        return completion_in(json_object(body), body, headers, format=format)


def completion_in(
    data: Mapping[str, object],
    body: bytes,
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
) -> Completion:
    """
    As `decode_reply`, of a body that was read already.

    Raises:
        BadReply: an error object, or no completion; it says nothing of the headers.
    """
    raise_error(data, body)
    choices = as_sequence(data.get("choices"))
    choice = as_mapping(choices[0]) if choices else None
    if choice is None:
        raise bad("the reply has no choices", body)
    raise_error(choice, body)
    message = as_mapping(choice.get("message"))
    if message is None:
        raise bad("the reply's choice has no message", body)
    reply = Reply(
        finish=finish_of(choice.get("finish_reason"), body),
        usage=usage_of(data.get("usage")),
        model=as_text(data.get("model")),
        id=as_text(data.get("id")),
        metadata=metadata(
            headers,
            **{key: data.get(key) or None for key in NOTES},
            annotations=message.get("annotations") or None,
            logprobs=choice.get("logprobs"),
        ),
    )
    read_message(message, reply)
    return reply.completion(format)


def raise_error(data: Mapping[str, object], body: bytes | str = "") -> None:
    """An error object where an answer should be, nested or, as vLLM and Mistral have it, itself."""
    if not data.get("error") and data.get("object") != "error":
        return
    text = body if isinstance(body, str) else body.decode("utf-8", "replace")
    raise BadReply(failure_in(data, text or dumps(data)))


def finish_of(reason: object, body: bytes | str = "") -> Finish:
    """The neutral finish; an endpoint that broke off has failed, an unknown word is a stop."""
    word = (as_text(reason) or "").lower()
    if word in _BROKE:
        fault = bad(f"the endpoint ended the reply with finish_reason {reason!r}", body).failure
        raise BadReply(replace(fault, code="finish_reason_error"))
    return _FINISHES.get(word, "stop")


def read_message(message: Mapping[str, object], reply: Reply) -> None:
    """Text, decline, reasoning and calls of an assistant message."""
    content = message.get("content")
    if isinstance(content, str):
        reply.say(content)
    else:
        text, thought = split_content(content)
        reply.say(text)
        if thought:
            reply.reasoning.append(thought_of(thought))
    if refusal := as_text(message.get("refusal")):
        reply.decline(refusal)
    reply.reasoning.extend(reasoning_of(message))
    calls = as_sequence(message.get("tool_calls"))
    if not calls and (legacy := legacy_call(message)) is not None:
        calls = [legacy]
    for at, item in enumerate(calls or ()):
        call = as_mapping(item) or {}
        function = as_mapping(call.get("function")) or {}
        reply.call(
            whole_call(
                as_text(call.get("id")),
                function.get("name"),
                function.get("arguments"),
                at,
                signature_of(call),
            )
        )


def legacy_call(message: Mapping[str, object]) -> Mapping[str, object] | None:
    """The one call of a message or delta from before there were tools; an empty one is none."""
    function = as_mapping(message.get("function_call"))
    return {"index": 0, "function": function} if function and any(function.values()) else None


def whole_call(
    id: str | None,  # noqa: A002  the field's word
    name: object,
    arguments: object,
    at: int,
    signature: str | None = None,
) -> ToolCall:
    """A whole call; a server that gives no id gets one by position, objects become their text."""
    text = (
        "" if arguments is None else arguments if isinstance(arguments, str) else dumps(arguments)
    )
    return tool_call(id or f"call_{at}", as_text(name) or "", text, signature)


def signature_of(call: Mapping[str, object]) -> str | None:
    """The thought signature Google's compatible endpoint puts on a call."""
    google = as_mapping((as_mapping(call.get("extra_content")) or {}).get("google")) or {}
    return as_text(google.get("thought_signature"))


def split_content(content: object) -> tuple[str, str]:
    """Text and thinking of a content list, the form some servers answer in."""
    parts = as_sequence(content)
    thought = "".join(
        texts(as_sequence(fields.get("thinking")))
        for part in parts or ()
        if (fields := as_mapping(part)) and fields.get("type") == "thinking"
    )
    return texts(parts), thought


def thought_of(text: str) -> Reasoning:
    """Thinking that came as a part of the content, which is where it goes back."""
    return Reasoning(text=text, raw={THOUGHT_PART: [{"type": "text", "text": text}]})


def reasoning_of(message: Mapping[str, object]) -> tuple[Reasoning, ...]:
    """Reasoning details in order, else the readable text under the name it came in."""
    details = as_sequence(message.get("reasoning_details"))
    if details:
        return tuple(detail(raw) for item in details if (raw := as_mapping(item)) is not None)
    for name in REASONING_FIELDS:
        if text := as_text(message.get(name)):
            return (Reasoning(text=text, raw={name: text}),)
    return ()


def detail(raw: Mapping[str, object]) -> Reasoning:
    """One reasoning detail; `raw` is what goes back."""
    return Reasoning(
        text=as_text(raw.get("text")) or as_text(raw.get("summary")) or "",
        id=as_text(raw.get("id")),
        encrypted=as_text(raw.get("data")),
        signature=as_text(raw.get("signature")),
        raw=raw,
    )


def usage_of(data: object) -> Usage | None:
    """Token counts; null or absent → None."""
    usage = as_mapping(data)
    if usage is None:
        return None
    prompt = as_mapping(usage.get("prompt_tokens_details")) or {}
    output = as_mapping(usage.get("completion_tokens_details")) or {}
    cached = count(prompt.get("cached_tokens"))
    return Usage(
        input=count(usage.get("prompt_tokens")),
        output=count(usage.get("completion_tokens")),
        total=count(usage.get("total_tokens")),
        reasoning=count(output.get("reasoning_tokens")),
        cached_read=count(usage.get("prompt_cache_hit_tokens")) if cached is None else cached,
        cached_write=count(prompt.get("cache_write_tokens")),
    )


def encode_reply(completion: Completion, *, id: str, model: str, created: int) -> Body:  # noqa: A002
    """The chat completion a client reads. `created` in seconds since the epoch."""
    declined = completion.finish == "declined"
    message = {
        "role": "assistant",
        "content": None if declined or not completion.text else completion.text,
        "refusal": completion.text if declined else None,
        **encode_calls(completion),
        **encode_reasoning(completion),
    }
    choice = {
        "index": 0,
        "message": message,
        "logprobs": None,
        "finish_reason": encode_finish(completion.finish),
    }
    return {
        "id": id,
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [choice],
        **present(usage=encode_usage(completion.usage)),
    }


def encode_finish(finish: Finish) -> str:
    """The finish_reason of a neutral finish."""
    return _FINISH_REASONS.get(finish, finish)


def encode_calls(completion: Completion) -> dict[str, object]:
    """The tool_calls of a message, absent where there are none."""
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for call in completion.tool_calls
    ]
    return {"tool_calls": calls} if calls else {}


def encode_reasoning(completion: Completion) -> dict[str, object]:
    """Readable reasoning as reasoning_content; details that came as such as they came."""
    details = [
        part.raw
        for part in completion.reasoning
        if part.raw and str(part.raw.get("type", "")).startswith("reasoning.")
    ]
    return present(
        reasoning_content=completion.reasoning_text or None, reasoning_details=details or None
    )


def encode_usage(usage: Usage | None) -> dict[str, object] | None:
    """The usage object; counts the vendor did not report are 0."""
    if usage is None:
        return None
    read, written, total = openai_counts(usage)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": total,
        "prompt_tokens_details": {"cached_tokens": usage.cached_read or 0},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
    }
