"""
A JSON Schema → one value that fits it, always the same one: what an obedient endpoint would answer.

Good for the schemas that formats use. A pattern, a contradiction or a `not` is not solved: the value is
then the nearest one that was found.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from structguard.schema import validator
from structguard.types import as_mapping, as_sequence, as_text

_DEEPEST = 8  # levels at which optional parts are left out, so that recursive schemas end
_ENDLESS = 60  # levels at which a schema that has no finite value is given up
_WORD = "blue heron"  # no word that a parser takes for a placeholder, as "text" would be
_FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "date": "2026-01-31",
        "date-time": "2026-01-31T12:00:00Z",
        "time": "12:00:00Z",
        "duration": "PT1H",
        "email": "ann@example.com",
        "hostname": "example.com",
        "ipv4": "192.0.2.1",
        "ipv6": "2001:db8::1",
        "uri": "https://example.com/",
        "uuid": "00000000-0000-4000-8000-000000000000",
    }
)


def sample(schema: Mapping[str, object]) -> object:
    """
    Return a value that matches the schema, or at least has its type (with a pattern, a `not`).

    >>> sample({"type": "object", "properties": {"n": {"type": "integer", "minimum": 3}}})
    {'n': 3}

    Raises:
        ValueError: the schema is broken.
    """
    fits = validator(schema).is_valid
    values = list(_values(schema, schema, 0))
    return next((value for value in values if fits(value)), values[0])


def _values(part: object, root: Mapping[str, object], depth: int) -> Iterator[object]:
    """Candidates for a subschema, the likeliest first; never none."""
    schema = as_mapping(part)
    if not schema or depth > _ENDLESS:
        yield _WORD
    elif "const" in schema:
        yield schema["const"]
    elif "$ref" in schema:
        yield from _values(_referred(schema["$ref"], root), root, depth + 1)
    else:
        for keyword in ("enum", "examples"):
            yield from as_sequence(schema.get(keyword)) or ()
        yield from _composed(schema, root, depth)


def _composed(
    schema: Mapping[str, object], root: Mapping[str, object], depth: int
) -> Iterator[object]:
    """Candidates by alternatives, by parts taken together, or by type."""
    choices = [*(as_sequence(schema.get("anyOf")) or ()), *(as_sequence(schema.get("oneOf")) or ())]
    if parts := as_sequence(schema.get("allOf")):
        merged: Mapping[str, object] = {k: v for k, v in schema.items() if k != "allOf"}
        for part in parts:
            merged = _merged(merged, _resolved(part, root))
        yield from _values(merged, root, depth + 1)
    elif choices:
        beside = {k: v for k, v in schema.items() if k not in {"anyOf", "oneOf"}}
        for choice in sorted(choices, key=_is_null):
            yield from _values(_merged(beside, _resolved(choice, root)), root, depth + 1)
    else:
        for kind in _types(schema):
            yield _MAKERS[kind](schema, root, depth)


def _first(part: object, root: Mapping[str, object], depth: int) -> object:
    return next(_values(part, root, depth))


def _types(schema: Mapping[str, object]) -> list[str]:
    given = schema.get("type")
    if isinstance(given, str):
        return [given]
    types = [kind for kind in as_sequence(given) or () if isinstance(kind, str)]
    if types:
        return sorted(types, key="null".__eq__)
    implied = next((kind for word, kind in _IMPLIED.items() if word in schema), "string")
    return [implied]


_IMPLIED: Mapping[str, str] = MappingProxyType(
    {
        "properties": "object",
        "required": "object",
        "additionalProperties": "object",
        "items": "array",
        "prefixItems": "array",
        "minItems": "array",
        "minimum": "number",
        "exclusiveMinimum": "number",
        "maximum": "number",
    }
)


def _object(schema: Mapping[str, object], root: Mapping[str, object], depth: int) -> object:
    properties = as_mapping(schema.get("properties")) or {}
    required = [name for name in as_sequence(schema.get("required")) or () if isinstance(name, str)]
    names = required if depth >= _DEEPEST else list(dict.fromkeys([*properties, *required]))
    return {name: _first(properties.get(name), root, depth + 1) for name in names}


def _array(schema: Mapping[str, object], root: Mapping[str, object], depth: int) -> object:
    heads = list(as_sequence(schema.get("prefixItems")) or ())
    least = schema.get("minItems", 0)
    least = int(least) if isinstance(least, int | float) else 0
    count = max(least, len(heads), 0 if depth >= _DEEPEST or "items" not in schema else 1)
    most = schema.get("maxItems")
    count = min(count, int(most)) if isinstance(most, int | float) else count
    rest = [schema.get("items")] * max(0, count - len(heads))
    return [_first(part, root, depth + 1) for part in [*heads, *rest][:count]]


def _text(schema: Mapping[str, object], _root: Mapping[str, object], _depth: int) -> object:
    text = _FORMATS.get(as_text(schema.get("format")) or "", _WORD)
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if isinstance(least, int | float) and len(text) < least:
        text = text.ljust(int(least), "x")
    return text[: int(most)] if isinstance(most, int | float) else text


def _number(schema: Mapping[str, object], _root: Mapping[str, object], _depth: int) -> object:
    return _within(schema, 0.5)


def _integer(schema: Mapping[str, object], _root: Mapping[str, object], _depth: int) -> object:
    return math.floor(_within(schema, 1))


def _within(schema: Mapping[str, object], step: float) -> float:
    """The number nearest to 1 that the bounds allow."""
    number: float = 1
    factor = schema.get("multipleOf")
    unit = factor if isinstance(factor, int | float) and factor > 0 else step
    bounds = [
        (schema.get("minimum"), 0.0, max),
        (schema.get("exclusiveMinimum"), unit, max),
        (schema.get("maximum"), 0.0, min),
        (schema.get("exclusiveMaximum"), -unit, min),
    ]
    for bound, beyond, pick in bounds:
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            number = pick(number, bound + beyond if beyond else bound)
    return math.ceil(number / unit) * unit if factor is not None else number


_MAKERS: Mapping[str, Callable[[Mapping[str, object], Mapping[str, object], int], object]] = (
    MappingProxyType(
        {
            "object": _object,
            "array": _array,
            "string": _text,
            "number": _number,
            "integer": _integer,
            "boolean": lambda _schema, _root, _depth: True,
            "null": lambda _schema, _root, _depth: None,
        }
    )
)


def _is_null(part: object) -> bool:
    return (as_mapping(part) or {}).get("type") == "null"


def _resolved(part: object, root: Mapping[str, object]) -> object:
    reference = (as_mapping(part) or {}).get("$ref")
    return part if reference is None else _referred(reference, root)


def _referred(reference: object, root: Mapping[str, object]) -> object:
    """The subschema a local pointer leads to; what leads elsewhere was refused by the validator."""
    path: object = root
    for step in (as_text(reference) or "").removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        path = (as_mapping(path) or {}).get(name)
    return path


def _merged(schema: Mapping[str, object], other: object) -> Mapping[str, object]:
    """Both schemas at once, as far as a sample needs it."""
    more = as_mapping(other) or {}
    properties = {
        **(as_mapping(schema.get("properties")) or {}),
        **(as_mapping(more.get("properties")) or {}),
    }
    required = [
        *(as_sequence(schema.get("required")) or ()),
        *(as_sequence(more.get("required")) or ()),
    ]
    merged = {**schema, **more}
    return {
        **merged,
        **({"properties": properties} if properties else {}),
        **({"required": required} if required else {}),
    }
