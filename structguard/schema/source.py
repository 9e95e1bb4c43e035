"""
What a caller asked for → the one form all rooms use: JsonSchema, JsonObject or None.

Pydantic is imported when the first type arrives. Source: DESIGN "Public face".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from structguard.types import Format, JsonObject, JsonSchema, as_mapping, as_text

_SCHEMA_WORDS = frozenset({
    "type", "properties", "$ref", "$defs", "$schema", "anyOf", "oneOf", "allOf", "enum", "const",
    "items", "required", "additionalProperties", "not", "prefixItems", "if", "patternProperties",
})  # fmt: skip


def as_format(given: object) -> Format | None:
    """
    The format a caller asked for.

    Accepts None, a Format, an OpenAI `response_format` or `text.format` dict, a bare JSON Schema,
    a Pydantic model, or any type a TypeAdapter takes (TypedDict, dataclass, list[int], …).

    Raises:
        ValueError: a dict that is neither, or a schema that is broken (with the place).
        TypeError: something no JSON Schema can be made from.
    """
    if given is None or isinstance(given, JsonSchema | JsonObject):
        return given
    spec = as_mapping(given)
    if spec is not None:
        return _format_of_dict(spec)
    if type(given) in {str, bytes, bool, int, float, list, tuple, set}:
        raise TypeError(
            "response_format must be a type, a JSON Schema or an OpenAI response_format dict,"
            f" got {type(given).__name__}"
        )
    return _format_of_type(given)


def _format_of_dict(spec: Mapping[str, object]) -> Format | None:
    kind = spec.get("type")
    if kind == "json_schema":
        nested = as_mapping(spec.get("json_schema")) or spec  # text.format holds the fields itself
        schema = as_mapping(nested.get("schema"))
        if schema is None:
            raise ValueError("response_format of type json_schema needs an object at 'schema'")
        strict = nested.get("strict")
        return JsonSchema(
            schema=schema,
            name=as_text(nested.get("name")),
            strict=strict if isinstance(strict, bool) else None,
            description=as_text(nested.get("description")),
        )
    if kind == "json_object":
        return JsonObject()
    if kind == "text":
        return None
    if spec and not _SCHEMA_WORDS.intersection(spec):
        raise ValueError(
            "response_format is neither an OpenAI response_format ('type': json_schema, json_object"
            f" or text) nor a JSON Schema; its keys are {', '.join(map(repr, sorted(spec)))}"
        )
    return JsonSchema(schema=spec, name=as_text(spec.get("title")))


def _format_of_type(given: object) -> JsonSchema:
    try:
        return _cached_type(given)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
    return _schema_of_type(given)


def _schema_of_type(given: object) -> JsonSchema:
    from pydantic import TypeAdapter  # noqa: PLC0415  costs 100 ms; only callers with types pay
    from pydantic.errors import PydanticUserError  # noqa: PLC0415

    try:
        schema = TypeAdapter(cast("type[Any]", given)).json_schema()
    except PydanticUserError as error:
        raise TypeError(f"no JSON Schema can be made from {given!r}: {error}") from error
    name = getattr(given, "__name__", None)
    return JsonSchema(
        schema=schema, name=as_text(name) or as_text(schema.get("title")), source=given
    )


_cached_type = lru_cache(maxsize=256)(_schema_of_type)
