"""Neutral request → Bedrock Converse body."""

from __future__ import annotations

import re
from collections.abc import Iterator

from structguard.schema import schema_name
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
    foreign_reasoning,
    grouped,
    model_of,
    named_tool,
    reasoning_for,
    reject_fields,
    reject_names,
    required_id,
    schema_of,
    system_text,
)
from structguard.wire.media import extension, image_url, inline, media_type, text_only
from structguard.wire.payload import dumps, present, with_extra

_RESERVED = ("modelId", "messages", "stream")
_REJECTED = ("frequency_penalty", "presence_penalty", "seed", "previous_response_id", "store",
            "include", "hosted_tools")  # fmt: skip
_NAME = re.compile(r"[^A-Za-z0-9 \-()\[\]]+")  # what a document's name may not hold


def encode_request(
    request: Request,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    stream: bool = False,
    options: WireOptions = DEFAULTS,
) -> Body:
    """
    The body of POST /model/{id}/converse; streaming is in the path. Bytes are base64.
    Source: Amazon Bedrock Runtime API reference, Converse; spec wire.
    """
    del stream
    model_of(request)  # the path needs it
    reject_fields("converse", request, *_REJECTED)
    conversation = request.conversation
    reject_names("converse", conversation)
    system = system_text(conversation)
    budget = budget_for(request, request.max_tokens)
    cap = request.max_tokens or (options.max_tokens if budget is None else None)
    inference = present(
        maxTokens=cap,
        temperature=request.temperature,
        topP=request.top_p,
        stopSequences=list(request.stop) or None,
    )
    thinking = {"thinking": {"type": "enabled", "budget_tokens": budget}}
    body = present(
        messages=_turns(conversation),
        system=[{"text": system}] if system else None,
        inferenceConfig=inference or None,
        toolConfig=_tools(request, format, options),
        outputConfig=_output(format, options),
        additionalModelRequestFields=thinking if budget is not None else None,
    )
    return with_extra(body, request.extra_body, reserved=_RESERVED, if_absent=("toolConfig",))


def _tools(
    request: Request,
    format: Format | None,  # noqa: A002  the field's word
    options: WireOptions,
) -> dict[str, object] | None:
    if format is not None and options.structured == "tool":
        forced = answering_tool(request, format, options)
        return {"tools": [_tool(forced)], "toolChoice": {"tool": {"name": forced.name}}}
    if not request.tools:
        if request.tool_choice not in {None, "auto", "none"}:
            raise Unencodable(
                f"tool_choice {request.tool_choice!r} without tools", param="tool_choice"
            )
        return None
    tools = [_tool(tool) for tool in request.functions]
    return {"tools": tools, **present(toolChoice=_choice(request))}


def _choice(request: Request) -> dict[str, object] | None:
    match request.tool_choice:
        case None:
            return None
        case "auto" | "any" as word:
            return {word: {}}
        case "none":
            raise Unencodable(
                "the converse API has no tool_choice 'none'; leave the tools out instead",
                param="tool_choice",
            )
        case name:
            return {"tool": {"name": named_tool(name, request.functions)}}


def _tool(tool: Tool) -> dict[str, object]:
    spec = present(
        name=tool.name,
        description=tool.description,
        inputSchema={"json": dict(tool.parameters)},
        strict=True if tool.strict else None,
    )
    return {"toolSpec": spec}


def _output(format: Format | None, options: WireOptions) -> dict[str, object] | None:  # noqa: A002
    if format is None or options.structured == "tool":
        return None
    json_schema = schema_of(format, "converse")
    spec = present(
        schema=dumps(json_schema.schema),
        name=schema_name(json_schema),
        description=json_schema.description,
    )
    return {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": spec}}}


def _turns(conversation: tuple[Message, ...]) -> list[dict[str, object]]:
    turns = (
        ("assistant" if message.role == "assistant" else "user", list(_blocks(message)))
        for message in conversation
        if message.role not in {"system", "developer"}
    )
    return [{"role": role, "content": content} for role, content in grouped(turns)]


def _blocks(message: Message) -> Iterator[dict[str, object]]:
    if message.role == "tool":
        content = list(_parts(message.content))
        yield {"toolResult": {"toolUseId": required_id(message), "content": content}}
    elif message.role == "user":
        yield from _parts(message.content)
    else:
        yield from map(_thinking, reasoning_for(message, None))
        text = text_only(message.content, where="an assistant message on the converse wire")
        if text:
            yield {"text": text}
        for call in message.tool_calls:
            yield from map(_thinking, reasoning_for(message, call))
            yield _call(call)


def _thinking(part: Reasoning) -> dict[str, object]:
    raw = part.raw or {}
    if "reasoningText" in raw or "redactedContent" in raw:
        return {"reasoningContent": dict(raw)}
    if not part.text:
        raise foreign_reasoning("converse")
    portable = not raw or raw.get("type") == "thinking"  # the same models sign on both wires
    reasoning = present(text=part.text, signature=part.signature if portable else None)
    return {"reasoningContent": {"reasoningText": reasoning}}


def _call(call: ToolCall) -> dict[str, object]:
    return {
        "toolUse": {"toolUseId": call.id, "name": call.name, "input": dict(call_input(call))},
    }


def _parts(content: str | tuple[Part, ...]) -> Iterator[dict[str, object]]:
    for part in (Text(content),) if isinstance(content, str) else content:
        match part:
            case Text(text):
                yield {"text": text}
            case Image():
                yield {"image": _image(part)}
            case File():
                yield {"document": _document(part)}


def _image(part: Image) -> dict[str, object]:
    return _media(image_url(part, "converse"), "an image")


def _document(part: File) -> dict[str, object]:
    url = part.data or part.url
    if url is None:
        raise Unencodable("the converse API does not support file ids", param="messages")
    stem = (part.filename or "document").rpartition(".")
    name = _NAME.sub(" ", stem[0] or stem[2]).strip()
    return {**_media(url, "a file"), "name": name or "document"}


def _media(url: str, what: str) -> dict[str, object]:
    inlined = inline(url, what=what)
    if inlined is not None:
        return {"format": extension(inlined.media_type), "source": {"bytes": inlined.data}}
    kind = media_type(url)
    if not url.startswith("s3://") or kind is None:
        raise Unencodable(
            f"the converse API accepts {what} as a data URL or by an s3: URL with a known ending",
            param="messages",
        )
    return {"format": extension(kind), "source": {"s3Location": {"uri": url}}}
