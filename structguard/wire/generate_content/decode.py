"""A Google generateContent body → neutral request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from structguard.types import (
    File,
    Format,
    Image,
    JsonObject,
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
from structguard.wire.generate_content.reply import parts_of, read_part
from structguard.wire.generate_content.request import LOCAL_ID
from structguard.wire.media import Inline
from structguard.wire.payload import count, dumps
from structguard.wire.reply import Reply

_CHOICES: Mapping[object, str] = {"AUTO": "auto", "NONE": "none", "ANY": "any"}


def decode_request(body: Mapping[str, object]) -> Request:
    """The neutral request; the model stands in the path. Source: Gemini API reference."""
    fields = Fields(body)
    system = "\n\n".join(
        _text(part) for part in parts_of({"content": fields.take("systemInstruction")})
    )
    config = Fields(fields.mapping("generationConfig") or {}, "generationConfig")
    functions, hosted = _tools(fields.items("tools"))
    messages = list(_messages(fields.items("contents")))
    decoded = {
        "max_tokens": config.whole("maxOutputTokens"),
        "temperature": config.number("temperature"),
        "top_p": config.number("topP"),
        "seed": config.whole("seed"),
        "stop": config.texts("stopSequences"),
        "response_format": _format(config),
        "effort": effort_of(count((config.mapping("thinkingConfig") or {}).get("thinkingBudget"))),
    }
    rest = config.rest()
    return decoded_request(
        messages=(*([Message(role="system", content=system)] if system else []), *messages),
        model=fields.text("model"),
        tools=functions,
        hosted_tools=hosted,
        tool_choice=_choice(fields.mapping("toolConfig")),
        **decoded,
        extra_body={**({"generationConfig": rest} if rest else {}), **fields.rest()},
    )


def _text(part: Mapping[str, object]) -> str:
    return as_text(part.get("text")) or ""


def _messages(contents: Sequence[object]) -> Iterator[Message]:
    for at, item in enumerate(contents):
        content = as_mapping(item) or {}
        parts = parts_of({"content": content})
        try:
            if content.get("role") == "model":
                yield _model(parts)
            else:
                yield from _user(parts)
        except ValueError as error:
            raise Undecodable(f"contents[{at}]: {error}", param=f"contents[{at}]") from error


def _model(parts: list[Mapping[str, object]]) -> Message:
    reply = Reply()
    for part in parts:
        read_part(part, reply)
    return reply.completion(None).message


def _user(parts: list[Mapping[str, object]]) -> Iterator[Message]:
    content: list[Part] = []
    for part in parts:
        response = as_mapping(part.get("functionResponse"))
        if response is None:
            content.append(_part(part))
            continue
        result = as_mapping(response.get("response")) or {}
        output = result.get("output") if set(result) == {"output"} else result
        yield Message(
            role="tool",
            tool_call_id=as_text(response.get("id")) or f"{LOCAL_ID}{response.get('name')}",
            name=as_text(response.get("name")),
            content=output if isinstance(output, str) else dumps(output),
        )
    if content or not parts:
        yield Message(role="user", content=plain(tuple(content)))


def _part(part: Mapping[str, object]) -> Part:
    blob, file = as_mapping(part.get("inlineData")), as_mapping(part.get("fileData"))
    if "text" in part:
        return Text(_text(part))
    if blob is not None:
        kind = as_text(blob.get("mimeType")) or "application/octet-stream"
        url = Inline(kind, as_text(blob.get("data")) or "").url
        return Image(url=url) if kind.startswith("image/") else File(data=url)
    if file is not None:
        uri = as_text(file.get("fileUri")) or ""
        kind = as_text(file.get("mimeType")) or ""
        return Image(url=uri) if kind.startswith("image/") else File(url=uri)
    raise ValueError(f"parts of {', '.join(part)} cannot be carried here")


def _tools(
    items: Sequence[object],
) -> tuple[tuple[Mapping[str, object], ...], tuple[Mapping[str, object], ...]]:
    functions: list[Mapping[str, object]] = []
    hosted: list[Mapping[str, object]] = []
    for item in items:
        tool = as_mapping(item) or {}
        declared = as_sequence(tool.get("functionDeclarations"))
        if declared is None:
            hosted.append(tool)
        else:
            functions.extend(as_mapping(entry) or {} for entry in declared)
    return tuple(functions), tuple(hosted)


def _choice(choice: Mapping[str, object] | None) -> str | None:
    config = as_mapping((choice or {}).get("functionCallingConfig")) or {}
    names = as_sequence(config.get("allowedFunctionNames")) or ()
    if len(names) > 1:
        raise Undecodable("only one allowed function can be named", param="toolConfig")
    return as_text(names[0]) if names else _CHOICES.get(config.get("mode"))


def _format(config: Fields) -> Format | None:
    kind, schema = config.text("responseMimeType"), config.mapping("responseJsonSchema")
    if kind not in {None, "text/plain", "application/json"}:
        raise Undecodable(f"responseMimeType {kind!r} is not offered", param="responseMimeType")
    if schema is not None:
        return JsonSchema(schema=schema)
    return JsonObject() if kind == "application/json" else None
