"""
What a Chat Completions body must look like; imports nothing of the gateway.

Unknown fields are tolerated, null counts as absent. Source: OpenAI API reference, Chat.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jsonschema_rs import Validator

Json = dict[str, object]


def _maybe(kind: str, **more: object) -> Json:
    """A field of this type, or null."""
    return {"type": [kind, "null"], **more}


_CONTENT: Json = {
    "type": ["string", "array", "null"],
    "items": {
        "type": "object",
        "required": ["type"],
        "properties": {
            "type": {"type": "string"},
            "text": {"type": "string"},
            "image_url": {
                "type": "object",
                "required": ["url"],
                "properties": {"url": {"type": "string"}, "detail": _maybe("string")},
            },
            "file": {"type": "object"},
        },
    },
}
_FUNCTION: Json = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "description": _maybe("string"),
        "parameters": _maybe("object"),
        "strict": _maybe("boolean"),
    },
}
_CALL: Json = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "string"},
        "function": {
            "type": "object",
            "required": ["name", "arguments"],
            "properties": {"name": {"type": "string"}, "arguments": {"type": "string"}},
        },
    },
}
_MESSAGE: Json = {
    "type": "object",
    "required": ["role"],
    "properties": {
        "role": {"enum": ["system", "developer", "user", "assistant", "tool", "function"]},
        "content": _CONTENT,
        "name": _maybe("string"),
        "tool_call_id": _maybe("string"),
        "tool_calls": _maybe("array", items=_CALL),
        "refusal": _maybe("string"),
    },
}
_TOOL: Json = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"type": "string"}, "function": _FUNCTION},
    "if": {"properties": {"type": {"const": "function"}}},
    "then": {"required": ["function"]},
}
_FORMAT: Json = {
    "type": ["object", "null"],
    "required": ["type"],
    "properties": {
        "type": {"enum": ["text", "json_object", "json_schema"]},
        "json_schema": {
            "type": "object",
            "properties": {
                "name": _maybe("string"),
                "schema": _maybe("object"),
                "strict": _maybe("boolean"),
            },
        },
    },
    "if": {"type": "object", "properties": {"type": {"const": "json_schema"}}},
    "then": {"required": ["json_schema"]},
}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["model", "messages"],
    "properties": {
        "model": {"type": "string", "minLength": 1},
        "messages": {"type": "array", "minItems": 1, "items": _MESSAGE},
        "stream": _maybe("boolean"),
        "stream_options": _maybe("object", properties={"include_usage": _maybe("boolean")}),
        "response_format": _FORMAT,
        "tools": _maybe("array", items=_TOOL),
        "tool_choice": {"type": ["string", "object", "null"]},
        "temperature": _maybe("number", minimum=0, maximum=2),
        "top_p": _maybe("number", minimum=0, maximum=1),
        "frequency_penalty": _maybe("number"),
        "presence_penalty": _maybe("number"),
        "max_tokens": _maybe("integer", minimum=1),
        "max_completion_tokens": _maybe("integer", minimum=1),
        "n": _maybe("integer", minimum=1),
        "seed": _maybe("integer"),
        "stop": {"type": ["string", "array", "null"], "items": {"type": "string"}},
        "reasoning_effort": _maybe("string"),
        "user": _maybe("string"),
    },
}


@cache
def _validator() -> Validator:
    import jsonschema_rs  # noqa: PLC0415  compiled once, when the endpoint is first asked

    return jsonschema_rs.validator_for(SCHEMA)


def fault(body: dict[str, object]) -> tuple[str, str | None] | None:
    """What is wrong with a body: (message, path of the first fault); None when nothing is."""
    validator = _validator()
    if validator.is_valid(body):
        return None
    from jsonschema_rs import ValidationError  # noqa: PLC0415  as above

    try:
        validator.validate(body)  # the first fault: all of a large body's take minutes
    except ValidationError as error:
        path = "".join(
            f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path
        ).lstrip(".")
        return error.message[:500], _missing(error.message, path) or None
    return None


def _missing(message: str, path: str) -> str:
    """A missing field is the fault's place, not the object that lacks it."""
    name, found, _ = message.partition(" is a required property")
    return f"{path}.{name.strip(chr(34))}".lstrip(".") if found else path
