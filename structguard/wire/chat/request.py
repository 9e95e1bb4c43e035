"""Neutral request → Chat Completions body."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from structguard.schema import schema_name
from structguard.types import (
    File,
    Format,
    Image,
    JsonSchema,
    Message,
    Part,
    Reasoning,
    Request,
    Text,
    Tool,
    ToolCall,
)
from structguard.wire.base import DEFAULTS, Body, Unencodable, WireOptions, is_reasoning
from structguard.wire.encoding import (
    JSON_SENTENCE,
    model_of,
    named_tool,
    needs_json_sentence,
    reject_fields,
    required_id,
    token_cap,
)
from structguard.wire.media import text_only
from structguard.wire.payload import present, with_extra

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put readable reasoning; it goes back in the field it came in."""
THOUGHT_PART = "thinking"
"""The key of a thinking part of the content, Mistral's form, in the `raw` of a Reasoning."""
_CHOICES: Mapping[str, str] = {"auto": "auto", "none": "none", "any": "required"}
_RESERVED = ("model", "messages", "stream")


def encode_request(
    request: Request,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    stream: bool = False,
    options: WireOptions = DEFAULTS,
) -> Body:
    """The body of POST /chat/completions. Source: OpenAI API reference, Chat; spec wire."""
    reject_fields("chat", request, "previous_response_id", "store", "include", "hosted_tools")
    reasoning = is_reasoning(request, options)
    cap = token_cap(request, options, reasoning=reasoning)
    body = present(
        model=model_of(request),
        messages=_messages(request, format, options),
        tools=[_tool(tool) for tool in request.functions] or None,
        tool_choice=_choice(request),
        response_format=encode_format(format),
        reasoning_effort=request.effort_level,
        temperature=None if reasoning else request.temperature,
        top_p=None if reasoning else request.top_p,
        frequency_penalty=request.frequency_penalty,
        presence_penalty=request.presence_penalty,
        seed=request.seed,
        stop=list(request.stop) or None,
    )
    if cap is not None:
        body["max_completion_tokens" if reasoning else "max_tokens"] = cap
    if stream:
        body["stream"] = True
        if options.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return with_extra(body, request.extra_body, reserved=_RESERVED)


def _messages(
    request: Request,
    format: Format | None,  # noqa: A002  the field's word
    options: WireOptions,
) -> list[dict[str, object]]:
    conversation = request.conversation
    messages = [_message(message, options) for message in conversation]
    if needs_json_sentence(conversation, format, options):
        system = next((m for m in messages if m["role"] in {"system", "developer"}), None)
        if system is None:
            messages.insert(0, {"role": "system", "content": JSON_SENTENCE})
        else:
            system["content"] = f"{system['content']}\n\n{JSON_SENTENCE}"
    return messages


def _message(message: Message, options: WireOptions) -> dict[str, object]:
    match message.role:
        case "user":
            content = _content(message.content)
            return {"role": "user", "content": content, **present(name=message.name)}
        case "assistant":
            return _assistant(message)
        case "tool":
            return {
                "role": "tool",
                "tool_call_id": required_id(message),
                "content": text_only(message.content, where="a tool message on the chat wire"),
                **present(name=message.name),
            }
        case role:
            text = text_only(message.content, where=f"a {role} message")
            sent_role = role if options.developer_role else "system"
            return {"role": sent_role, "content": text, **present(name=message.name)}


def _assistant(message: Message) -> dict[str, object]:
    text = text_only(message.content, where="an assistant message on the chat wire")
    thoughts = [
        {"type": "thinking", **r.raw} for r in message.reasoning if r.raw and _is_part(r.raw)
    ]
    beside = tuple(part for part in message.reasoning if not _is_part(part.raw or {}))
    return {
        "role": "assistant",
        "content": [*thoughts, {"type": "text", "text": text}] if thoughts else text,
        **present(name=message.name, tool_calls=[_call(c) for c in message.tool_calls] or None),
        **_reasoning(beside),
    }


def _is_part(raw: Mapping[str, object]) -> bool:
    return THOUGHT_PART in raw and "type" not in raw  # Anthropic's blocks have a type


def _reasoning(parts: tuple[Reasoning, ...]) -> dict[str, object]:
    """The parts in the fields they came in: details as they were, plain text under its name."""
    details: list[object] = []
    texts: dict[str, str] = {}
    for part in parts:
        raw = part.raw or {}
        name = next((field for field in REASONING_FIELDS if field in raw), REASONING_FIELDS[0])
        if str(raw.get("type", "")).startswith("reasoning."):
            details.append(dict(raw))
        elif part.text:
            texts[name] = texts.get(name, "") + part.text
        else:
            raise Unencodable(
                "the chat API cannot carry encrypted reasoning of another API; drop it from the"
                " message or answer over the wire it came from",
                param="messages",
            )
    return {**present(reasoning_details=details or None), **texts}


def _content(content: str | tuple[Part, ...]) -> object:
    return content if isinstance(content, str) else list(_parts(content))


def _parts(parts: tuple[Part, ...]) -> Iterator[dict[str, object]]:
    for part in parts:
        match part:
            case Text(text):
                yield {"type": "text", "text": text}
            case Image():
                image = {"url": part.url, **present(detail=part.detail)}
                yield {"type": "image_url", "image_url": image}
            case File():
                if part.url is not None:
                    raise Unencodable(
                        "the chat API accepts a file as a data URL or by id, not by URL",
                        param="messages",
                    )
                file = present(file_data=part.data, file_id=part.id, filename=part.filename)
                yield {"type": "file", "file": file}


def _call(call: ToolCall) -> dict[str, object]:
    function = {"name": call.name, "arguments": call.arguments}
    signed = {"google": {"thought_signature": call.signature}} if call.signature else None
    return {
        "id": call.id,
        "type": "function",
        "function": function,
        **present(extra_content=signed),  # where Google's compatible endpoint looks for it
    }


def _tool(tool: Tool) -> dict[str, object]:
    function = present(
        name=tool.name,
        description=tool.description,
        parameters=dict(tool.parameters),
        strict=True if tool.strict else None,
    )
    return {"type": "function", "function": function}


def _choice(request: Request) -> object:
    choice = request.tool_choice
    if choice is None or choice in _CHOICES:
        return _CHOICES.get(choice or "")
    return {"type": "function", "function": {"name": named_tool(choice, request.functions)}}


def encode_format(format: Format | None) -> object:  # noqa: A002  the field's word
    """The `response_format` of a format."""
    if format is None:
        return None
    if not isinstance(format, JsonSchema):
        return {"type": "json_object"}
    spec = present(
        name=schema_name(format),
        description=format.description,
        schema=dict(format.schema),
        strict=format.strict,
    )
    return {"type": "json_schema", "json_schema": spec}
