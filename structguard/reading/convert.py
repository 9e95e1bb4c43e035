"""
Shapes and exact coercions: what a value becomes where the schema demands another type.

A string that holds JSON is decoded where an object or array must stand. With `coerce` also, and
only where exact: "42" → 42, "true" → true, 42 → "42", true → "true", scalar → [scalar], enum by
case. Never "about 12", "$1,234", "yes", a default or an empty list. Source: spec parse, step 8.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, cast

from structguard.reading.strict import NotStrict, strict
from structguard.reading.target import Schema, Target, allowed, choices, json_type
from structguard.reading.values import Coercion, Holder, Path
from structguard.types import as_mapping, as_sequence

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,4299})\Z")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?\Z")
_BOOLEANS: Final = {"true": True, "True": True, "TRUE": True,
                    "false": False, "False": False, "FALSE": False}  # fmt: skip
_NO: Final = object()


@dataclass(slots=True)
class _Place:
    """A place in the new value that is still to be looked at."""

    holder: Holder
    key: str | int
    alternatives: list[Schema]
    path: Path


def convert(value: object, target: Target, *, coerce: bool) -> tuple[object, list[Coercion]]:
    """A copy of the value with shapes and coercions applied where its types do not fit."""
    box: list[object] = [value]
    done: list[Coercion] = []
    waiting = [_Place(cast("Holder", box), 0, target.root, ())]
    while waiting:
        place = waiting.pop()
        found = place.holder[place.key]
        changed = _changed(found, place.alternatives, coerce=coerce)
        if changed is not _NO:
            done.append((place.path, found, changed))
            found = changed
        if (mapping := as_mapping(found)) is not None:
            found = members = dict(mapping)
            waiting.extend(_members(members, place, target))
        elif (sequence := as_sequence(found)) is not None:
            found = items = list(sequence)
            waiting.extend(_items(items, place, target))
        place.holder[place.key] = found
    return box[0], done


def _members(copied: dict[str, object], place: _Place, target: Target) -> Iterator[_Place]:
    alternatives = _narrowed(copied, place.alternatives)
    for key in copied:
        inner = target.members(alternatives, key)
        if inner:
            yield _Place(cast("Holder", copied), key, inner, (*place.path, key))


def _items(copied: list[object], place: _Place, target: Target) -> Iterator[_Place]:
    inner = target.items(place.alternatives)
    fixed = any("prefixItems" in part for part in place.alternatives)
    for index in range(len(copied)):
        if fixed:
            inner = target.items(place.alternatives, index)
        if inner:
            yield _Place(cast("Holder", copied), index, inner, (*place.path, index))


def _narrowed(value: dict[str, object], alternatives: list[Schema]) -> list[Schema]:
    """The alternatives whose constants (a discriminator) this object does not contradict."""
    if len(alternatives) < 2:
        return alternatives
    kept = [part for part in alternatives if not _contradicts(value, part)]
    return kept or alternatives


def _contradicts(value: dict[str, object], part: Schema) -> bool:
    properties = as_mapping(part.get("properties")) or {}
    for key, item in value.items():
        inner = as_mapping(properties.get(key)) or {}
        named = choices([inner])
        if named and item not in named:
            return True
    return False


def _changed(value: object, alternatives: list[Schema], *, coerce: bool) -> object:
    """The value in the type this place demands; _NO when it may stay or nothing exact is known."""
    types = allowed(alternatives)
    own = json_type(value)
    if types is None:
        return _NO
    if own in types or (own == "integer" and "number" in types):
        return _by_case(value, alternatives) if coerce and isinstance(value, str) else _NO
    if own == "number" and "integer" in types and _is_whole(value):
        return _NO
    if isinstance(value, str) and types & {"object", "array"}:
        decoded = _decoded(value, types)
        if decoded is not _NO:
            return decoded
    return _coerced(value, own, types, alternatives) if coerce else _NO


def _is_whole(value: object) -> bool:
    return isinstance(value, float) and value.is_integer()


def _decoded(text: str, types: set[str]) -> object:
    if text.lstrip()[:1] not in ("{", "["):
        return _NO
    try:
        value, _ = strict(text)
    except NotStrict:
        return _NO
    return value if json_type(value) in types else _NO


def _coerced(value: object, own: str, types: set[str], alternatives: list[Schema]) -> object:
    for wanted, rule in _RULES.items():
        if wanted in types:
            found = rule(value)
            if found is not _NO:
                if isinstance(found, str) and "string" in types:
                    changed = _by_case(found, alternatives)
                    return found if changed is _NO else changed
                return found
    if "array" in types and own != "null":
        return [value]
    return _NO


def _to_integer(value: object) -> object:
    return int(value) if isinstance(value, str) and _INTEGER.match(value) else _NO


def _to_number(value: object) -> object:
    if not isinstance(value, str) or len(value) > 400 or not _NUMBER.match(value):
        return _NO
    number = int(value) if _INTEGER.match(value) else float(value)
    return number if number - number == 0 else _NO


def _to_boolean(value: object) -> object:
    return _BOOLEANS.get(value, _NO) if isinstance(value, str) else _NO


def _to_string(value: object) -> object:
    """The number or literal as it is written in JSON; an exponent's spelling is not known."""
    if isinstance(value, bool | int):
        return json.dumps(value) if abs(value) < 10**18 else _NO
    if isinstance(value, float) and 1e-4 <= abs(value) < 1e15:
        return json.dumps(value)
    return _NO


_RULES: Final[dict[str, Callable[[object], object]]] = {
    "integer": _to_integer,
    "number": _to_number,
    "boolean": _to_boolean,
    "string": _to_string,
}


def _by_case(value: str, alternatives: list[Schema]) -> object:
    """The one enum value that differs only in case."""
    named = [item for item in choices(alternatives) if isinstance(item, str)]
    if not named or value in named:
        return _NO
    same = {item for item in named if item.casefold() == value.strip().casefold()}
    return same.pop() if len(same) == 1 else _NO
