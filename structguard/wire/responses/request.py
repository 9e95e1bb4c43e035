"""Neutral request → Responses body."""

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
)
from structguard.wire.base import DEFAULTS, Body, WireOptions, is_reasoning
from structguard.wire.encoding import (
    JSON_SENTENCE,
    foreign_reasoning,
    model_of,
    named_tool,
    needs_json_sentence,
    reasoning_for,
    reject_fields,
    reject_names,
    required_id,
    system_text,
    token_cap,
)
from structguard.wire.media import text_only
from structguard.wire.payload import present, with_extra

_CHOICES: Mapping[str, str] = {"auto": "auto", "none": "none", "any": "required"}
_RESERVED = ("model", "input", "stream")
_REASONING_KEYS = ("id", "encrypted_content", "content")


def encode_request(
    request: Request,
    *,
    format: Format | None = None,  # noqa: A002  the field's word
    stream: bool = False,
    options: WireOptions = DEFAULTS,
) -> Body:
    """The body of POST /responses. Source: OpenAI API reference, Responses; spec wire."""
    reject_fields("responses", request, "frequency_penalty", "presence_penalty", "seed", "stop")
    conversation = request.conversation
    reject_names("responses", conversation)
    reasoning = is_reasoning(request, options)
    instructions = [text for text in (system_text(conversation),) if text]
    if needs_json_sentence(conversation, format, options):
        instructions.append(JSON_SENTENCE)
    effort = request.effort_level
    body = present(
        model=model_of(request),
        instructions="\n\n".join(instructions) or None,
        input=list(_items(conversation)),
        tools=[*map(_tool, request.functions), *map(dict, request.hosted_tools)] or None,
        tool_choice=_choice(request),
        text=encode_format(format),
        reasoning=None if effort is None else {"effort": effort},
        max_output_tokens=token_cap(request, options, reasoning=reasoning),
        temperature=None if reasoning else request.temperature,
        top_p=None if reasoning else request.top_p,
        previous_response_id=request.previous_response_id,
        store=request.store,
        include=list(request.include) or None,
    )
    if stream:
        body["stream"] = True
    return with_extra(body, request.extra_body, reserved=_RESERVED)


def _items(conversation: tuple[Message, ...]) -> Iterator[dict[str, object]]:
    sent: set[str] = set()  # ids of the reasoning items that went out: each goes once
    for message in conversation:
        match message.role:
            case "user":
                yield _message("user", list(_parts(message.content)))
            case "assistant":
                yield from _assistant(message, sent)
            case "tool":
                output = _output(message.content)
                call_id = required_id(message)
                yield {"type": "function_call_output", "call_id": call_id, "output": output}
            case _:
                pass  # system and developer are the instructions


def _message(role: str, content: list[dict[str, object]]) -> dict[str, object]:
    return {"type": "message", "role": role, "content": content}


def _assistant(message: Message, sent: set[str]) -> Iterator[dict[str, object]]:
    yield from _reasoning(reasoning_for(message, None), sent)
    text = text_only(message.content, where="an assistant message on the responses wire")
    if text:
        yield _message("assistant", [{"type": "output_text", "text": text}])
    for call in message.tool_calls:
        yield from _reasoning(reasoning_for(message, call), sent)
        yield {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": call.arguments,
        }


def _reasoning(parts: list[Reasoning], sent: set[str]) -> Iterator[dict[str, object]]:
    for part in parts:
        item = _reasoning_item(part)
        identity = str(item.get("id", ""))
        if identity not in sent:
            yield item
        if identity:
            sent.add(identity)


def _reasoning_item(part: Reasoning) -> dict[str, object]:
    """The item as it came, without what only replies hold; else one made of what is known."""
    raw = part.raw or {}
    if raw.get("type") == "reasoning":
        fields = {key: raw[key] for key in _REASONING_KEYS if raw.get(key)}
        return {"type": "reasoning", "summary": raw.get("summary") or [], **fields}
    portable = not raw or str(raw.get("type", "")).startswith(
        "reasoning."
    )  # a router's, of this wire
    if not (part.text or (portable and (part.encrypted or part.id))):
        raise foreign_reasoning("responses")
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    return {
        "type": "reasoning",
        "summary": summary,
        **(present(id=part.id, encrypted_content=part.encrypted) if portable else {}),
    }


def _output(parts: str | tuple[Part, ...]) -> object:
    """A tool's output: text alone as a string, else parts."""
    if isinstance(parts, str) or all(isinstance(part, Text) for part in parts):
        return text_only(parts, where="")
    return list(_parts(parts))


def _parts(content: str | tuple[Part, ...]) -> Iterator[dict[str, object]]:
    for part in (Text(content),) if isinstance(content, str) else content:
        match part:
            case Text(text):
                yield {"type": "input_text", "text": text}
            case Image():
                image = {"type": "input_image", "image_url": part.url}
                yield {**image, **present(detail=part.detail)}
            case File():
                yield {
                    "type": "input_file",
                    **present(
                        file_data=part.data,
                        file_url=part.url,
                        file_id=part.id,
                        filename=part.filename,
                    ),
                }


def _tool(tool: Tool) -> dict[str, object]:
    return {
        "type": "function",
        "name": tool.name,
        **present(description=tool.description),
        "parameters": dict(tool.parameters),
        "strict": tool.strict,
    }


def _choice(request: Request) -> object:
    choice = request.tool_choice
    if choice is None or choice in _CHOICES:
        return _CHOICES.get(choice or "")
    return {"type": "function", "name": named_tool(choice, request.functions)}


def encode_format(format: Format | None) -> object:  # noqa: A002  the field's word
    """The `text` of a format."""
    if format is None:
        return None
    if not isinstance(format, JsonSchema):
        return {"format": {"type": "json_object"}}
    spec = present(
        type="json_schema",
        name=schema_name(format),
        description=format.description,
        schema=dict(format.schema),
        strict=format.strict,
    )
    return {"format": spec}
