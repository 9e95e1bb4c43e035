"""
The sizes that OpenAI's strict mode allows a schema, each counted over the whole of it.

Source: platform.openai.com/docs/guides/structured-outputs, "Supported schemas".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from structguard.types import as_mapping, as_sequence

Path: TypeAlias = tuple[str | int, ...]
_DEEPEST = 10  # levels of objects
_MOST_PROPERTIES = 5_000
_MOST_ENUM_VALUES = 1_000
_MOST_CHARACTERS = 120_000  # of property and definition names, enum and const values together
_LONG_ENUM = (250, 15_000)  # an enum of more values than this may hold so many characters


def over_limits(schema: Mapping[str, object]) -> Iterator[tuple[Path, str]]:
    """The documented sizes, each counted over the whole schema."""
    properties = values = characters = 0
    for path, part, level in _parts(schema):
        names = as_mapping(part.get("properties")) or {}
        enum = as_sequence(part.get("enum")) or ()
        texts = [value for value in (*enum, part.get("const")) if isinstance(value, str)]
        definitions = as_mapping(part.get("$defs")) or {}
        properties += len(names)
        values += len(enum)
        characters += sum(map(len, (*names, *definitions, *texts)))
        if level == _DEEPEST + 1 and names:
            yield path, (f"objects may be nested {_DEEPEST} levels deep")
        if len(enum) > _LONG_ENUM[0] and sum(map(len, texts)) > _LONG_ENUM[1]:
            yield path, (f"{len(enum)} values may hold {_LONG_ENUM[1]:,} characters")
    for count, most, what in (
        (properties, _MOST_PROPERTIES, "properties"),
        (values, _MOST_ENUM_VALUES, "enum values"),
        (characters, _MOST_CHARACTERS, "characters of names and values"),
    ):
        if count > most:
            yield (), (f"{count:,} {what}; at most {most:,} are taken")


def _parts(schema: Mapping[str, object]) -> Iterator[tuple[Path, Mapping[str, object], int]]:
    """Every subschema with its path and its level of object nesting; definitions start anew."""
    waiting: list[tuple[Path, object, int]] = [((), schema, 1)]
    while waiting:
        path, given, level = waiting.pop()
        part = as_mapping(given)
        if part is None:
            continue
        yield path, part, level
        for keyword in ("$defs", "definitions", "properties"):
            deeper = level + 1 if keyword == "properties" else 1
            for name, inner in (as_mapping(part.get(keyword)) or {}).items():
                waiting.append(((*path, keyword, name), inner, deeper))
        for index, inner in enumerate(as_sequence(part.get("anyOf")) or ()):
            waiting.append(((*path, "anyOf", index), inner, level))
        waiting.append(((*path, "items"), part.get("items"), level))
