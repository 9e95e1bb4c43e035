"""An Anthropic Messages body → neutral request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from structguard.types import (
    File,
    Image,
    JsonSchema,
    Message,
    Part,
    Request,
    Text,
    as_mapping,
    as_sequence,
    as_text,
)
from structguard.wire.base import Undecodable
from structguard.wire.fields import Fields, decoded_request, effort_of, plain
from structguard.wire.media import Inline
from structguard.wire.messages.reply import read_block
from structguard.wire.payload import count
from structguard.wire.reply import Reply


def decode_request(body: Mapping[str, object]) -> Request:
    """The neutral request; `stream` is the caller's to read. Source: Anthropic API reference."""
    fields = Fields(body)
    system = fields.take("system")
    functions, hosted = _tools(fields.items("tools"))
    fields.take("stream")
    return decoded_request(
        messages=(*_system(system), *_messages(fields.items("messages"))),
        model=fields.text("model"),
        max_tokens=fields.whole("max_tokens"),
        response_format=_format(fields),
        tools=functions,
        hosted_tools=hosted,
        tool_choice=_choice(fields.mapping("tool_choice")),
        effort=effort_of(count((fields.mapping("thinking") or {}).get("budget_tokens"))),
        temperature=fields.number("temperature"),
        top_p=fields.number("top_p"),
        stop=fields.texts("stop_sequences"),
        extra_body=fields.rest(),
    )


def _system(system: object) -> Iterator[Message]:
    text = system if isinstance(system, str) else "\n\n".join(map(_text, as_sequence(system) or ()))
    if text:
        yield Message(role="system", content=text)


def _text(block: object) -> str:
    return as_text((as_mapping(block) or {}).get("text")) or ""


def _messages(items: Sequence[object]) -> Iterator[Message]:
    for at, item in enumerate(items):
        try:
            yield from _turn(as_mapping(item) or {})
        except ValueError as error:
            raise Undecodable(f"messages[{at}]: {error}", param=f"messages[{at}]") from error


def _turn(message: Mapping[str, object]) -> Iterator[Message]:
    content = message.get("content")
    content = [{"type": "text", "text": content}] if isinstance(content, str) else content
    blocks = as_sequence(content) or ()
    match message.get("role"):
        case "assistant":
            yield _assistant(blocks)
        case "user":
            yield from _user(blocks)
        case other:
            raise ValueError(f"a role must be user or assistant, got {other!r}")


def _assistant(blocks: Sequence[object]) -> Message:
    reply = Reply()
    for block in blocks:
        read_block(as_mapping(block) or {}, reply, None)
    if "items" in reply.metadata:
        raise ValueError("blocks of hosted tools cannot be carried here")
    return reply.completion(None).message


def _user(blocks: Sequence[object]) -> Iterator[Message]:
    parts: list[Part] = []
    for block in blocks:
        fields = as_mapping(block) or {}
        if fields.get("type") == "tool_result":
            content = fields.get("content")
            yield Message(
                role="tool",
                tool_call_id=as_text(fields.get("tool_use_id")),
                content=content if isinstance(content, str) else _content(as_sequence(content)),
            )
        else:
            parts.append(_part(fields))
    if parts or not blocks:
        yield Message(role="user", content=plain(tuple(parts)))


def _content(blocks: Sequence[object] | None) -> str | tuple[Part, ...]:
    return tuple(_part(as_mapping(block) or {}) for block in blocks or ()) or ""


def _part(block: Mapping[str, object]) -> Part:
    source = as_mapping(block.get("source")) or {}
    match block.get("type"):
        case "text":
            return Text(_text(block))
        case "image":
            return Image(url=_url(source))
        case "document":
            kind = source.get("type")
            return File(
                data=_url(source) if kind in {"base64", "text"} else None,
                url=as_text(source.get("url")),
                id=as_text(source.get("file_id")),
                filename=as_text(block.get("title")),
            )
        case other:
            raise ValueError(f"content blocks of type {other!r} cannot be carried here")


def _url(source: Mapping[str, object]) -> str:
    data = as_text(source.get("data")) or ""
    media_type = as_text(source.get("media_type")) or ""
    match source.get("type"):
        case "base64":
            return Inline(media_type, data).url
        case "text":
            return Inline.of(media_type, data.encode()).url
        case _:
            return as_text(source.get("url")) or ""


def _tools(
    items: Sequence[object],
) -> tuple[tuple[Mapping[str, object], ...], tuple[Mapping[str, object], ...]]:
    tools = [as_mapping(item) or {} for item in items]
    functions = [
        {
            "name": tool.get("name"),
            "description": tool.get("description"),
            "parameters": tool["input_schema"],
            "strict": tool.get("strict"),
        }
        for tool in tools
        if "input_schema" in tool
    ]
    return tuple(functions), tuple(tool for tool in tools if "input_schema" not in tool)


def _format(fields: Fields) -> JsonSchema | None:
    config = Fields(fields.mapping("output_config") or {}, "output_config")
    format_ = config.mapping("format")
    if config.rest():
        raise Undecodable("only output_config.format is supported here", param="output_config")
    if format_ is None:
        return None
    schema = as_mapping(format_.get("schema"))
    if format_.get("type") != "json_schema" or schema is None:
        raise Undecodable("a format needs type json_schema and a schema", param="output_config")
    return JsonSchema(schema=schema)


def _choice(choice: Mapping[str, object] | None) -> str | None:
    if choice is None:
        return None
    return as_text(choice.get("name")) or as_text(choice.get("type"))
