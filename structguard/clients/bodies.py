"""
Request bodies as the vendors' APIs take them: where the format stands, and the body without it.

Pure: a body is never changed, a changed copy is handed back that shares what did not change.
Source: spec wire "Request", rows "format" and "system"; spec guard §2, row "prompt".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from structguard.schema import as_format
from structguard.types import (
    Api,
    Format,
    JsonObject,
    JsonSchema,
    as_mapping,
    as_sequence,
    as_text,
)

Body = Mapping[str, object]

_PATHS: Mapping[Api, tuple[tuple[str, ...], ...]] = {
    "chat": (("response_format",),),
    "responses": (("text", "format"),),
    "messages": (("output_config", "format"), ("output_format",)),
    "converse": (("outputConfig", "textFormat"),),
    "generate_content": (
        ("generationConfig", "responseMimeType"),
        ("generationConfig", "responseSchema"),
        ("generationConfig", "responseJsonSchema"),
        ("generation_config", "response_mime_type"),
        ("generation_config", "response_schema"),
        ("generation_config", "response_json_schema"),
    ),
}

API_OF_PATH: tuple[tuple[str, Api], ...] = (
    ("/chat/completions", "chat"),
    ("/responses", "responses"),
    ("/v1/messages", "messages"),
    (":generateContent", "generate_content"),
    (":streamGenerateContent", "generate_content"),
    ("/converse", "converse"),
    ("/converse-stream", "converse"),
)


def api_of(path: str) -> Api | None:
    """The wire API that a URL's path belongs to, None for every other path."""
    for ending, api in API_OF_PATH:
        if path.endswith(ending):
            return api
    return None


def has_format(body: Body, api: Api) -> bool:
    """Whether the body asks for JSON: the cheap question of the happy path."""
    if api == "chat":
        format_ = as_mapping(body.get("response_format"))
    elif api == "responses":
        text = as_mapping(body.get("text"))
        format_ = as_mapping(text.get("format")) if text else None
    else:
        return any(_at(body, path) not in (None, "text/plain") for path in _PATHS[api])
    return format_ is not None and format_.get("type") in ("json_schema", "json_object")


def format_of(body: Body, api: Api) -> Format | None:
    """
    The format a body asks for.

    Raises:
        ValueError: a format that says json_schema and holds none.
    """
    match api:
        case "chat":
            return as_format(body.get("response_format"))
        case "responses":
            return as_format(_at(body, ("text", "format")))
        case "messages":
            return as_format(_at(body, _PATHS[api][0]) or _at(body, _PATHS[api][1]))
        case "converse":
            return _converse_format(body)
        case "generate_content":
            return _google_format(body)


def _converse_format(body: Body) -> Format | None:
    schema = as_mapping(_at(body, ("outputConfig", "textFormat", "structure", "jsonSchema")))
    if schema is None:
        return None
    text = as_text(schema.get("schema"))
    parsed = as_mapping(json.loads(text)) if text is not None else as_mapping(schema.get("schema"))
    return JsonSchema(schema=parsed or {}, name=as_text(schema.get("name")))


def _google_format(body: Body) -> Format | None:
    config = (
        as_mapping(body.get("generationConfig")) or as_mapping(body.get("generation_config")) or {}
    )
    schema = as_mapping(config.get("responseJsonSchema") or config.get("response_json_schema"))
    if schema is not None:
        return JsonSchema(schema=schema)
    own = as_mapping(config.get("responseSchema") or config.get("response_schema"))
    if own is not None:
        return JsonSchema(schema=as_mapping(_lower_types(own)) or {})
    mime = config.get("responseMimeType") or config.get("response_mime_type")
    return JsonObject() if mime == "application/json" else None


def _lower_types(node: object) -> object:
    """Google's OpenAPI dialect as JSON Schema: type names in lower case, nullable as a union."""
    items = as_sequence(node)
    if items is not None:
        return [_lower_types(item) for item in items]
    mapping = as_mapping(node)
    if mapping is None:
        return node
    result = {key: _lower_types(value) for key, value in mapping.items() if key != "nullable"}
    kind = mapping.get("type")
    if isinstance(kind, str):
        result["type"] = [kind.lower(), "null"] if mapping.get("nullable") else kind.lower()
    return result


def without_format(body: Body, api: Api) -> dict[str, object]:
    """The body minus the format, and minus parents that held nothing else."""
    result = dict(body)
    for path in _PATHS[api]:
        _drop(result, path)
    return result


def _at(body: Body, path: tuple[str, ...]) -> object:
    node: object = body
    for key in path:
        mapping = as_mapping(node)
        if mapping is None:
            return None
        node = mapping.get(key)
    return node


def _drop(body: dict[str, object], path: tuple[str, ...]) -> None:
    key, *rest = path
    if not rest:
        body.pop(key, None)
        return
    nested = as_mapping(body.get(key))
    if nested is None or rest[0] not in nested:
        return
    remaining = dict(nested)
    _drop(remaining, tuple(rest))
    if remaining:
        body[key] = remaining
    else:
        del body[key]


def carries_schema(body: Body, format: Format) -> bool:  # noqa: A002
    """Whether the prompt already shows the schema (JSON object mode: says JSON at all)."""
    texts = [*_prompt(body)]
    if isinstance(format, JsonObject):
        return any("json" in text.lower() for text in texts)
    for key in format.schema:
        if _is_plain(key) and not any(f'"{key}"' in text for text in texts):
            return False  # cheaper than four texts of the schema, and nearly always so
    prompt = "".join("".join(texts).split())
    return any(
        "".join(json.dumps(format.schema, ensure_ascii=ascii_only, sort_keys=ordered).split())
        in prompt
        for ascii_only in (False, True)
        for ordered in (False, True)
    )


def _is_plain(key: str) -> bool:
    """Whether every JSON text spells it alike."""
    return key.isascii() and key.isidentifier()


_PROMPT_KEYS = ("messages", "instructions", "input", "system", "contents", "systemInstruction",
                "system_instruction")  # fmt: skip
_TEXT_KEYS = frozenset({"content", "text", "parts", "output"})


def _prompt(body: Body) -> Iterator[str]:
    """
    Every text of the prompt, walked without recursion.

    Not ids, addresses and data: an image in Base64 says "json" by chance.
    """
    stack: list[object] = [body[key] for key in _PROMPT_KEYS if key in body]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            yield node
        elif (items := as_sequence(node)) is not None:
            stack.extend(items)
        elif (mapping := as_mapping(node)) is not None:
            stack.extend(value for key, value in mapping.items() if key in _TEXT_KEYS)


def with_instruction(body: Body, api: Api, text: str) -> dict[str, object]:
    """The body with `text` added to its system text."""
    result = dict(body)
    match api:
        case "chat":
            result["messages"] = _chat_system(result.get("messages"), text)
        case "responses":
            result["instructions"] = _joined(result.get("instructions"), text)
        case "messages":
            result["system"] = _blocks(result.get("system"), {"type": "text", "text": text}, text)
        case "converse":
            result["system"] = [*(as_sequence(result.get("system")) or ()), {"text": text}]
        case "generate_content":
            key = "system_instruction" if "system_instruction" in result else "systemInstruction"
            system = as_mapping(result.get(key)) or {}
            parts = as_sequence(system.get("parts")) or ()
            result[key] = {**system, "parts": [*parts, {"text": text}]}
    return result


def _chat_system(content: object, text: str) -> list[object]:
    messages = list(as_sequence(content) or ())
    first = as_mapping(messages[0]) if messages else None
    if first is not None and first.get("role") in ("system", "developer"):
        content = _blocks(first.get("content"), {"type": "text", "text": text}, text)
        return [{**first, "content": content}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def _blocks(given: object, block: Body, text: str) -> object:
    blocks = as_sequence(given)
    return _joined(given, text) if blocks is None else [*blocks, dict(block)]


def _joined(given: object, text: str) -> str:
    return f"{given}\n\n{text}" if isinstance(given, str) and given else text
