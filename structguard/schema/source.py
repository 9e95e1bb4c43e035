"""
What a caller asked for → the one form all rooms use: JsonSchema, JsonObject or None.

Pydantic is imported when the first type arrives. Source: DESIGN "Public face".
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from inspect import isroutine
from typing import TYPE_CHECKING, cast

from structguard.schema.engines import in_short
from structguard.schema.identity import fingerprint, unpack
from structguard.schema.validate import validator
from structguard.types import Format, JsonObject, JsonSchema, as_mapping, as_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_KEPT = 256  # formats; the least recently used go first
_SCHEMA_WORDS = frozenset({
    "type", "properties", "$ref", "$defs", "$schema", "anyOf", "oneOf", "allOf", "enum", "const",
    "items", "required", "additionalProperties", "not", "prefixItems", "if", "patternProperties",
    "definitions", "$dynamicRef", "pattern", "minLength", "maxLength", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems",
    "contains", "minProperties", "maxProperties", "propertyNames", "dependentRequired",
    "dependentSchemas",
})  # fmt: skip


def as_format(given: object) -> Format | None:
    """
    The format a caller asked for.

    Accepts None, a Format, an OpenAI `response_format` or `text.format` dict, a bare JSON Schema,
    a Pydantic model, or any type a TypeAdapter takes (TypedDict, dataclass, list[int], …).

    Raises:
        ValueError: a dict that is neither, or a schema that is broken, not plain JSON or refers to
            the network (with the place).
        TypeError: something no JSON Schema can be made from.
    """
    if given is None or isinstance(given, JsonObject):
        return given
    if isinstance(given, JsonSchema):
        return given if given.source is not None else _checked(given)
    spec = as_mapping(given)
    if spec is not None:
        packed = fingerprint(spec)
        return _format_of_dict(spec) if packed is None else _format_of_packed(packed)
    if type(given) in {str, bytes, bool, int, float, list, tuple, set}:
        raise TypeError(
            "a schema or response_format must be a type, a JSON Schema or an OpenAI response_format"
            f" dict, got {type(given).__name__}"
        )
    return _format_of_type(given)


@lru_cache(maxsize=_KEPT)
def _format_of_packed(packed: bytes) -> Format | None:
    """A format read once: the same caller asks with the same dict again and again."""
    format_ = _format_of_dict(unpack(packed))
    if isinstance(format_, JsonSchema):
        object.__setattr__(format_, "packed", fingerprint(format_.schema))
    return format_


def _format_of_dict(spec: Mapping[str, object]) -> Format | None:
    kind = spec.get("type")
    if kind == "json_schema":
        nested = as_mapping(spec.get("json_schema")) or spec  # text.format holds the fields itself
        schema = as_mapping(nested.get("schema"))
        if schema is None:
            raise ValueError("response_format of type json_schema needs an object at 'schema'")
        strict = nested.get("strict")
        return _checked(
            JsonSchema(
                schema=schema,
                name=as_text(nested.get("name")),
                strict=strict if isinstance(strict, bool) else None,
                description=as_text(nested.get("description")),
            )
        )
    if kind == "json_object":
        return JsonObject()
    if kind == "text":
        return None
    if spec and not _SCHEMA_WORDS.intersection(spec):
        raise ValueError(
            "response_format is neither an OpenAI response_format ('type': json_schema, json_object"
            f" or text) nor a JSON Schema; its keys are {', '.join(sorted(map(repr, spec)))}"
        )
    return _checked(JsonSchema(schema=spec, name=as_text(spec.get("title"))))


def _checked(given: JsonSchema) -> JsonSchema:
    """The format itself; a broken schema is found here, before anything is sent (kept, so cheap)."""
    validator(given.schema)
    return given


def _format_of_type(given: object) -> JsonSchema:
    if isroutine(given):
        raise TypeError(f"response_format must be a type, got the function {given!r}")
    try:
        return _schema_of_type(_key(given))
    except Exception as error:  # a type's own hooks and annotations may raise anything
        name, why = in_short(repr(given)), in_short(str(error))
        raise TypeError(f"no JSON Schema can be made from {name}: {why}") from error


def adapter(source: object) -> TypeAdapter[object]:
    """The strictness-neutral TypeAdapter of a type, made once and kept (the last 256)."""
    return _adapter(_key(source))


@dataclass(frozen=True, slots=True, eq=False)
class _Same:
    """A cache key for a type that cannot be hashed: this very object, kept alive by the key."""

    source: object

    def __hash__(self) -> int:
        return id(self.source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.source is self.source


def _key(source: object) -> Hashable:
    try:
        hash(source)
    except TypeError:
        return _Same(source)
    return source


def _source(key: Hashable) -> object:
    return key.source if isinstance(key, _Same) else key


@lru_cache(maxsize=256)
def _adapter(key: Hashable) -> TypeAdapter[object]:
    from pydantic import TypeAdapter  # noqa: PLC0415  costs 100 ms; only callers with types pay

    return TypeAdapter(cast("type[object]", _source(key)))


@lru_cache(maxsize=256)
def _schema_of_type(key: Hashable) -> JsonSchema:
    source, schema = _source(key), _adapter(key).json_schema()
    name = source.__name__ if isinstance(source, type) else as_text(schema.get("title"))
    return JsonSchema(schema=schema, name=name, source=source)
