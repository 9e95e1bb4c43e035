"""A Bedrock Converse body → neutral request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from structguard.types import (
    Effort,
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
from structguard.wire.converse.reply import read_block
from structguard.wire.fields import Fields, decoded_request, effort_of, plain
from structguard.wire.media import Inline, media_type
from structguard.wire.payload import count, loads
from structguard.wire.reply import Reply


def decode_request(body: Mapping[str, object]) -> Request:
    """The neutral request; the model stands in the path. Source: Bedrock Runtime API reference."""
    fields = Fields(body)
    system = "\n\n".join(_text(block) for block in fields.items("system"))
    inference = Fields(fields.mapping("inferenceConfig") or {}, "inferenceConfig")
    config = Fields(fields.mapping("toolConfig") or {}, "toolConfig")
    effort, extra = _effort(fields.mapping("additionalModelRequestFields"))
    messages = _messages(fields.items("messages"))
    return decoded_request(
        messages=(*([Message(role="system", content=system)] if system else []), *messages),
        model=fields.text("modelId"),
        max_tokens=inference.whole("maxTokens"),
        temperature=inference.number("temperature"),
        top_p=inference.number("topP"),
        stop=inference.texts("stopSequences"),
        tools=tuple(_tool(item) for item in config.items("tools")),
        tool_choice=_choice(config.mapping("toolChoice")),
        response_format=_format(fields.mapping("outputConfig")),
        effort=effort,
        extra_body={**extra, **fields.rest()},
    )


def _text(block: object) -> str:
    return as_text((as_mapping(block) or {}).get("text")) or ""


def _messages(items: Sequence[object]) -> Iterator[Message]:
    for at, item in enumerate(items):
        message = as_mapping(item) or {}
        blocks = as_sequence(message.get("content")) or ()
        try:
            if message.get("role") == "assistant":
                yield _assistant(blocks)
            else:
                yield from _user(blocks)
        except ValueError as error:
            raise Undecodable(f"messages[{at}]: {error}", param=f"messages[{at}]") from error


def _assistant(blocks: Sequence[object]) -> Message:
    reply = Reply()
    for block in blocks:
        read_block(as_mapping(block) or {}, reply, None)
    return reply.completion(None).message


def _user(blocks: Sequence[object]) -> Iterator[Message]:
    parts: list[Part] = []
    for block in blocks:
        fields = as_mapping(block) or {}
        result = as_mapping(fields.get("toolResult"))
        if result is None:
            parts.append(_part(fields))
            continue
        content = tuple(
            _part(as_mapping(part) or {}) for part in as_sequence(result.get("content")) or ()
        )
        call_id = as_text(result.get("toolUseId"))
        yield Message(role="tool", tool_call_id=call_id, content=plain(content))
    if parts or not blocks:
        yield Message(role="user", content=plain(tuple(parts)))


def _part(block: Mapping[str, object]) -> Part:
    image, document = as_mapping(block.get("image")), as_mapping(block.get("document"))
    if "text" in block:
        return Text(_text(block))
    if image is not None:
        return Image(url=_url(image))
    if document is not None:
        url = _url(document)
        inlined = url.startswith("data:")
        return File(
            data=url if inlined else None,
            url=None if inlined else url,
            filename=f"{as_text(document.get('name'))}.{as_text(document.get('format'))}",
        )
    raise ValueError(f"content blocks of {', '.join(block)} cannot be carried here")


def _url(media: Mapping[str, object]) -> str:
    source = as_mapping(media.get("source")) or {}
    location = as_mapping(source.get("s3Location"))
    if location is not None:
        return as_text(location.get("uri")) or ""
    kind = media_type(f"x.{as_text(media.get('format'))}") or "application/octet-stream"
    return Inline(kind, as_text(source.get("bytes")) or "").url


def _tool(item: object) -> dict[str, object]:
    spec = as_mapping((as_mapping(item) or {}).get("toolSpec")) or {}
    return {
        "name": spec.get("name"),
        "description": spec.get("description"),
        "parameters": (as_mapping(spec.get("inputSchema")) or {}).get("json"),
        "strict": spec.get("strict"),
    }


def _choice(choice: Mapping[str, object] | None) -> str | None:
    for word, value in (choice or {}).items():
        return as_text((as_mapping(value) or {}).get("name")) or word
    return None


def _format(config: Mapping[str, object] | None) -> JsonSchema | None:
    if config is None:
        return None
    text = as_mapping(config.get("textFormat")) or {}
    spec = as_mapping((as_mapping(text.get("structure")) or {}).get("jsonSchema")) or {}
    try:
        schema = as_mapping(loads((as_text(spec.get("schema")) or "").encode()))
    except ValueError:
        schema = None
    if schema is None:
        raise Undecodable("a text format needs its schema as JSON text", param="outputConfig")
    return JsonSchema(
        schema=schema,
        name=as_text(spec.get("name")),
        description=as_text(spec.get("description")),
    )


def _effort(extra: Mapping[str, object] | None) -> tuple[Effort | None, dict[str, object]]:
    """The least effort that is worth the budget; the model's other fields stay as they are."""
    rest = {key: value for key, value in (extra or {}).items() if key != "thinking"}
    thinking = as_mapping((extra or {}).get("thinking")) or {}
    budget = count(thinking.get("budget_tokens"))
    other: dict[str, object] = {"additionalModelRequestFields": rest} if rest else {}
    return effort_of(budget), other
