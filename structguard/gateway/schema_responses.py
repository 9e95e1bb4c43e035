"""
What a Responses body must look like; imports nothing of the gateway.

Unknown fields are tolerated, null counts as absent. Source: the Open Responses document (2026-04-24).
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
    "anyOf": [
        {"required": ["role", "content"], "properties": {
            "type": {"enum": ["message", None]},
            "role": {"enum": ["user", "assistant", "system", "developer"]},
            "content": {"type": ["string", "array"], "items": _PART}}},
        {"required": ["type", "call_id", "name", "arguments"], "properties": {
            "type": {"const": "function_call"}, "arguments": {"type": "string"},
            "call_id": {"type": "string"}, "name": {"type": "string"}}},
        {"required": ["type", "call_id", "output"], "properties": {
            "type": {"const": "function_call_output"}, "call_id": {"type": "string"},
            "output": {"type": ["string", "array"], "items": _PART}}},
        {"required": ["type"], "properties": {
            "type": {"const": "reasoning"},
            "summary": {"type": ["array", "null"], "items": _PART}}},
        {"required": ["type", "encrypted_content"], "properties": {
            "type": {"const": "compaction"}, "encrypted_content": {"type": "string"}}},
        {"required": ["id"], "properties": {
            "type": {"enum": ["item_reference", None]}, "id": {"type": "string"}}},
        {"required": ["type"], "properties": {"type": {"type": "string", "not": {"enum": [
            "message", "function_call", "function_call_output", "reasoning", "compaction",
            "item_reference"]}}}},
    ],
}  # fmt: skip
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
