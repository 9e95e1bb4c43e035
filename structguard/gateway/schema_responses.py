"""
What a Responses body must look like; imports nothing of the gateway.

Unknown fields are tolerated, null counts as absent. Source: the Open Responses document (2026-04-24).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from jsonschema_rs import Validator

Json = dict[str, object]


def _maybe(kind: str, **more: object) -> Json:
    """A field of this type, or null."""
    return {"type": [kind, "null"], **more}


_PART: Json = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"type": "string"},
        "text": {"type": "string"},
        "image_url": _maybe("string"),
        "detail": _maybe("string"),
        "file_data": _maybe("string"),
        "file_url": _maybe("string"),
        "filename": _maybe("string"),
        "refusal": {"type": "string"},
    },
}
_KINDS: dict[str, Json] = {
    "message": {"required": ["role", "content"], "properties": {
        "type": {"enum": ["message", None]},
        "role": {"enum": ["user", "assistant", "system", "developer"]},
        "content": {"type": ["string", "array"], "items": _PART}}},
    "function_call": {"required": ["type", "call_id", "name", "arguments"], "properties": {
        "type": {"const": "function_call"}, "arguments": {"type": "string"},
        "call_id": {"type": "string"}, "name": {"type": "string"}}},
    "function_call_output": {"required": ["type", "call_id", "output"], "properties": {
        "type": {"const": "function_call_output"}, "call_id": {"type": "string"},
        "output": {"type": ["string", "array"], "items": _PART}}},
    "reasoning": {"required": ["type"], "properties": {
        "type": {"const": "reasoning"},
        "summary": {"type": ["array", "null"], "items": _PART}}},
    "compaction": {"required": ["type", "encrypted_content"], "properties": {
        "type": {"const": "compaction"}, "encrypted_content": {"type": "string"}}},
    "item_reference": {"required": ["id"], "properties": {
        "type": {"enum": ["item_reference", None]}, "id": {"type": "string"}}},
}  # fmt: skip
_OTHER: Json = {
    "required": ["type"],
    "properties": {"type": {"type": "string", "not": {"enum": [*_KINDS]}}},
}
_ITEM: Json = {
    "type": "object",
    "properties": {
        "type": _maybe("string"),
        "id": _maybe("string"),
        "role": _maybe("string"),
        "call_id": _maybe("string", minLength=1),
        "name": _maybe("string"),
        "arguments": _maybe("string"),
        "encrypted_content": _maybe("string"),
        "phase": {"enum": ["commentary", "final_answer", None]},
    },
    "anyOf": [*_KINDS.values(), _OTHER],
}
_TOOL: Json = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": {"type": "string"},
        "name": {"type": "string"},
        "description": _maybe("string"),
        "parameters": _maybe("object"),
        "strict": _maybe("boolean"),
    },
    "if": {"properties": {"type": {"const": "function"}}},
    "then": {"required": ["name"], "properties": {"name": {"minLength": 1}}},
}
_FORMAT: Json = {
    "type": ["object", "null"],
    "required": ["type"],
    "properties": {
        "type": {"enum": ["text", "json_object", "json_schema"]},
        "name": _maybe("string"),
        "schema": _maybe("object"),
        "strict": _maybe("boolean"),
    },
}
SCHEMA: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["model"],
    "properties": {
        "model": {"type": "string", "minLength": 1},
        "input": {"type": ["string", "array", "null"], "items": _ITEM},
        "instructions": _maybe("string"),
        "previous_response_id": _maybe("string"),
        "include": _maybe("array", items={"type": "string"}),
        "stream": _maybe("boolean"),
        "stream_options": _maybe("object"),
        "background": _maybe("boolean"),
        "store": _maybe("boolean"),
        "text": _maybe("object", properties={"format": _FORMAT, "verbosity": _maybe("string")}),
        "tools": _maybe("array", items=_TOOL),
        "tool_choice": {"type": ["string", "object", "null"]},
        "parallel_tool_calls": _maybe("boolean"),
        "temperature": _maybe("number", minimum=0, maximum=2),
        "top_p": _maybe("number", minimum=0, maximum=1),
        "presence_penalty": _maybe("number"),
        "frequency_penalty": _maybe("number"),
        "max_output_tokens": _maybe("integer", minimum=1),
        "max_tool_calls": _maybe("integer", minimum=1),
        "top_logprobs": _maybe("integer", minimum=0, maximum=20),
        "reasoning": _maybe("object", properties={"effort": _maybe("string")}),
        "truncation": {"enum": ["auto", "disabled", None]},
        "service_tier": _maybe("string"),
        "metadata": _maybe(
            "object",
            maxProperties=16,
            propertyNames={"maxLength": 64},
            additionalProperties={"type": "string", "maxLength": 512},
        ),
        "safety_identifier": _maybe("string"),
        "prompt_cache_key": _maybe("string"),
    },
}


@cache
def _validator(kind: str = "") -> Validator:
    """Of a whole body, or of one kind of item."""
    import jsonschema_rs  # noqa: PLC0415  compiled once, when the endpoint is first asked

    return jsonschema_rs.validator_for(_KINDS[kind] if kind else SCHEMA)


def fault(body: dict[str, object]) -> tuple[str, str | None] | None:
    """What is wrong with a body: (message, path of the first fault); None when nothing is."""
    if _validator().is_valid(body):
        return None
    message, steps = _first(_validator(), body)
    match steps:
        case ["input", int(at)]:  # no kind of item fits: tell what the one that is meant lacks
            item = cast("list[object]", body["input"])[at]
            kind = _kind_of(item)
            inner, rest = _first(_validator(kind), item) if kind else ("", [])
            message, steps = inner or message, [*steps, *rest]
        case _:
            pass
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return message[:500], path.lstrip(".") or None


def _first(validator: Validator, value: object) -> tuple[str, list[str | int]]:
    """The first fault and the steps to it: all of a large body's take minutes."""
    from jsonschema_rs import ValidationError  # noqa: PLC0415  as above

    try:
        validator.validate(value)
    except ValidationError as error:
        # a missing field is the fault's place, not the object that lacks it
        name, missing, _ = error.message.partition(" is a required property")
        return error.message, [*error.instance_path, *([name.strip('"')] if missing else ())]
    return "", []


def _kind_of(item: object) -> str:
    """Which kind of item is meant; "" where nothing says so."""
    if not isinstance(item, dict):
        return ""
    fields = cast("dict[str, object]", item)
    kind = fields.get("type") or ("message" if "role" in fields or "content" in fields else "")
    return kind if isinstance(kind, str) and kind in _KINDS else ""
