"""Responses reply → Completion, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
from structguard.wire.encoding import reasoning_for
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


def decode_reply(
    body: bytes,
    headers: Headers = NO_HEADERS,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    options: WireOptions = DEFAULTS,
) -> Completion:
    """A response resource. Source: OpenAI API reference, Responses; the Open Responses document."""
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
        BadReply: an error object, or no output; it says nothing of the headers.
    """
    raise_error(data, body)
    output = as_sequence(data.get("output"))
    if output is None:
        raise bad("the reply has no output", body)
    return resource(data, output, metadata(headers)).completion(format)


def raise_error(data: Mapping[str, object], body: bytes = b"") -> None:
    """An error object where an answer should be."""
    if data.get("error"):
        raise BadReply(failure_in(data, body.decode("utf-8", "replace") or dumps(data)))


def resource(
    data: Mapping[str, object], output: Sequence[object], noted: dict[str, object]
) -> Reply:
    """The pieces of a response whose output items are these."""
    tier = as_text(data.get("service_tier"))
    reply = Reply(
        finish=finish_of(data),
        usage=usage_of(data.get("usage")),
        model=as_text(data.get("model")),
        id=as_text(data.get("id")),
        metadata=noted if tier is None else {**noted, "service_tier": tier},
    )
    read_items(output, reply)
    return reply


def finish_of(data: Mapping[str, object]) -> Finish:
    """The neutral finish of status and incomplete reason; calls are looked at later."""
    status = as_text(data.get("status"))
    if status == "incomplete":
        reason = (as_mapping(data.get("incomplete_details")) or {}).get("reason")
        return "filtered" if reason == "content_filter" else "length"
    return "error" if status in {"failed", "cancelled"} else "stop"


def read_items(output: Sequence[object], reply: Reply) -> None:
    """Messages, reasoning and calls in order."""
    for entry in output:
        item = as_mapping(entry) or {}
        match item.get("type"):
            case "message":
                _read_message(item, reply)
            case "reasoning":
                reply.think(reasoning_of(item))
            case "function_call":
                reply.call(call_of(item))
            case _:
                reply.keep(entry)


def call_of(item: Mapping[str, object]) -> ToolCall:
    """One function_call item."""
    return tool_call(
        as_text(item.get("call_id")) or as_text(item.get("id")) or "",
        as_text(item.get("name")) or "",
        as_text(item.get("arguments")) or "",
    )


def _read_message(item: Mapping[str, object], reply: Reply) -> None:
    content = item.get("content")
    if isinstance(content, str):
        reply.say(content)
    for entry in as_sequence(content) or ():
        part = as_mapping(entry) or {}
        if refusal := as_text(part.get("refusal")):
            reply.decline(refusal)
        else:
            reply.say(as_text(part.get("text")) or "")
            reply.note("annotations", part.get("annotations"))


def reasoning_of(item: Mapping[str, object]) -> Reasoning:
    """One reasoning item; `raw` is what goes back."""
    summary = texts(as_sequence(item.get("summary")))
    return Reasoning(
        text=texts(as_sequence(item.get("content"))) or summary,
        id=as_text(item.get("id")),
        encrypted=as_text(item.get("encrypted_content")),
        raw=item,
    )


def usage_of(data: object) -> Usage | None:
    """Token counts; null or absent → None."""
    usage = as_mapping(data)
    if usage is None:
        return None
    read = as_mapping(usage.get("input_tokens_details")) or {}
    written = as_mapping(usage.get("output_tokens_details")) or {}
    return Usage(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        total=count(usage.get("total_tokens")),
        reasoning=count(written.get("reasoning_tokens")),
        cached_read=count(read.get("cached_tokens")),
        cached_write=count(read.get("cache_write_tokens")),
    )


def encode_reply(completion: Completion, *, id: str, model: str, created: int) -> Body:  # noqa: A002
    """
    The response resource a client reads, without the request's echo. `created` in seconds since
    the epoch; item ids derive from `id`, so that a stream's and the resource's are the same.
    """
    status, reason = _STATUSES.get(completion.finish, ("completed", None))
    return {
        "id": id,
        "object": "response",
        "created_at": created,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": model,
        "output": output_items(completion, id),
        "usage": encode_usage(completion.usage),
    }


_STATUSES: Mapping[Finish, tuple[str, str | None]] = {
    "length": ("incomplete", "max_output_tokens"),
    "filtered": ("incomplete", "content_filter"),
    "error": ("failed", None),
}


def output_items(completion: Completion, id: str) -> list[dict[str, object]]:  # noqa: A002
    """The reply as output items: reasoning before what it led to, the text, then the calls."""
    items = [*map(_reasoning_item, reasoning_for(completion, None))]
    if completion.text:
        items.append(_message_item(completion))
    for call in completion.tool_calls:
        items += map(_reasoning_item, reasoning_for(completion, call))
        item: dict[str, object] = {"type": "function_call", "call_id": call.id}
        items.append(item | {"name": call.name, "arguments": call.arguments})
    for at, item in enumerate(items):
        item.setdefault("id", f"{_PREFIXES[str(item['type'])]}_{id.removeprefix('resp_')}_{at}")
        if item["type"] != "reasoning":
            item["status"] = "completed"
    if items and "status" in items[-1] and completion.finish in {"length", "filtered"}:
        items[-1]["status"] = "incomplete"  # what the limit cut off; what stands before it is whole
    return items


_PREFIXES: Mapping[str, str] = {"message": "msg", "reasoning": "rs", "function_call": "fc"}


def _reasoning_item(part: Reasoning) -> dict[str, object]:
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    item: dict[str, object] = {"type": "reasoning", "summary": summary}
    return item | present(id=part.id, encrypted_content=part.encrypted)


def _message_item(completion: Completion) -> dict[str, object]:
    content: dict[str, object] = (
        {"type": "refusal", "refusal": completion.text}
        if completion.finish == "declined"
        else {"type": "output_text", "text": completion.text, "annotations": [], "logprobs": []}
    )
    return {"type": "message", "role": "assistant", "content": [content]}


def encode_usage(usage: Usage | None) -> dict[str, object] | None:
    """The usage object; counts the vendor did not report are 0."""
    if usage is None:
        return None
    read, written, total = openai_counts(usage)
    return {
        "input_tokens": read,
        "input_tokens_details": {"cached_tokens": usage.cached_read or 0},
        "output_tokens": written,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": total,
    }
