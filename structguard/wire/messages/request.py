"""Neutral request → Anthropic Messages body."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from structguard.types import (
    File,
    Format,
    Image,
    Message,
    Part,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
)
from structguard.wire.base import DEFAULTS, Body, Unencodable, WireOptions
from structguard.wire.encoding import (
    answering_tool,
    budget_for,
    call_input,
    model_of,
    named_tool,
    reasoning_for,
    reject_fields,
    reject_names,
    required_id,
    schema_of,
    system_text,
)
from structguard.wire.media import describe, image_url, inline, text_only
from structguard.wire.payload import present, with_extra

DEFAULT_MAX_TOKENS = 4096
_CHOICES = frozenset({"auto", "none", "any"})
_RESERVED = ("model", "messages", "stream")
_REJECTED = ("frequency_penalty", "presence_penalty", "seed", "previous_response_id", "store",
            "include")  # fmt: skip
_THINKING = frozenset({"thinking", "redacted_thinking"})


def encode_request(
    request: Request,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    stream: bool = False,
    options: WireOptions = DEFAULTS,
) -> Body:
    """The body of POST /v1/messages. Source: Anthropic API reference, Messages; spec wire."""
    reject_fields("messages", request, *_REJECTED)
    conversation = request.conversation
    reject_names("messages", conversation)
    budget = budget_for(request, request.max_tokens)
    tools = [*map(_tool, request.functions), *map(dict, request.hosted_tools)]
    body = present(
        model=model_of(request),
        max_tokens=request.max_tokens or (options.max_tokens or DEFAULT_MAX_TOKENS) + (budget or 0),
        system=system_text(conversation) or None,
        messages=list(_turns(conversation)),
        tools=tools or None,
        tool_choice=_choice(request),
        thinking=None if budget is None else {"type": "enabled", "budget_tokens": budget},
        temperature=request.temperature,
        top_p=request.top_p,
        stop_sequences=list(request.stop) or None,
    )
    body |= _structured(request, format, options)
    if stream:
        body["stream"] = True
    return with_extra(body, request.extra_body, reserved=_RESERVED)


def _structured(
    request: Request,
    format: Format | None,  # noqa: A002  the field's word
    options: WireOptions,
) -> dict[str, object]:
    if format is None:
        return {}
    if options.structured == "native":
        format_ = {"type": "json_schema", "schema": dict(schema_of(format, "messages").schema)}
        return {"output_config": {"format": format_}}
    tool = answering_tool(request, format, options)
    return {"tools": [_tool(tool)], "tool_choice": {"type": "tool", "name": tool.name}}


def _turns(conversation: tuple[Message, ...]) -> Iterator[dict[str, object]]:
    results: list[object] = []  # results that follow one another are one user turn
    for message in conversation:
        if message.role == "tool":
            results.append(_result(message))
            continue
        if results:
            yield {"role": "user", "content": results}
            results = []
        if message.role == "user":
            yield {"role": "user", "content": list(_blocks(message.content))}
        elif message.role == "assistant" and (blocks := list(_assistant(message))):
            yield {"role": "assistant", "content": blocks}  # an empty turn is refused
    if results:
        yield {"role": "user", "content": results}


def _result(message: Message) -> dict[str, object]:
    content = message.content
    blocks = content if isinstance(content, str) else list(_blocks(content))
    return {"type": "tool_result", "tool_use_id": required_id(message), "content": blocks}


def _assistant(message: Message) -> Iterator[dict[str, object]]:
    yield from map(_thinking, reasoning_for(message, None))
    text = text_only(message.content, where="an assistant message on the messages wire")
    if text:
        yield {"type": "text", "text": text}
    for call in message.tool_calls:
        yield from map(_thinking, reasoning_for(message, call))
        yield _call(call)


def _thinking(part: Reasoning) -> dict[str, object]:
    raw = part.raw or {}
    if raw.get("type") in _THINKING:
        return dict(raw)
    if part.signature and (not raw or "reasoningText" in raw):  # Bedrock's wire: the same signer
        return {"type": "thinking", "thinking": part.text, "signature": part.signature}
    raise Unencodable(
        "the messages API accepts only reasoning that it has signed itself; drop the reasoning from the"
        " message or answer over the wire it came from",
        param="messages",
    )


def _call(call: ToolCall) -> dict[str, object]:
    return {
        "type": "tool_use",
        "id": call.id,
        "name": call.name,
        "input": dict(call_input(call)),
    }


def _blocks(content: str | tuple[Part, ...]) -> Iterator[dict[str, object]]:
    for part in (Text(content),) if isinstance(content, str) else content:
        match part:
            case Text(text):
                yield {"type": "text", "text": text}
            case Image():
                yield {"type": "image", "source": _image(part)}
            case File():
                yield {
                    "type": "document",
                    "source": _document(part),
                    **present(title=part.filename),
                }


def _image(part: Image) -> dict[str, object]:
    url = image_url(part, "messages")
    inlined = inline(url, what="an image")
    if inlined is None:
        return {"type": "url", "url": url}
    return {"type": "base64", "media_type": inlined.media_type, "data": inlined.data}


def _document(part: File) -> dict[str, object]:
    if part.id is not None:
        return {"type": "file", "file_id": part.id}
    if part.url is not None:
        return {"type": "url", "url": part.url}
    inlined = inline(part.data or "", what=describe(part))
    if inlined is not None and inlined.media_type == "application/pdf":
        return {"type": "base64", "media_type": inlined.media_type, "data": inlined.data}
    if inlined is not None and inlined.media_type == "text/plain":
        text = base64.b64decode(inlined.data).decode("utf-8", "replace")
        return {"type": "text", "media_type": "text/plain", "data": text}
    raise Unencodable(
        "the messages API accepts a file as PDF or plain text in a data URL, by URL or by id",
        param="messages",
    )


def _tool(tool: Tool) -> dict[str, object]:
    return present(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.parameters),
        strict=True if tool.strict else None,
    )


def _choice(request: Request) -> object:
    choice = request.tool_choice
    if choice is None or choice in _CHOICES:
        return None if choice is None else {"type": choice}
    return {"type": "tool", "name": named_tool(choice, request.functions)}
