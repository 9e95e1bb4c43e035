"""
What a value has to fit: the caller's format, its compiled validator, and the schema as a map.

The map answers what may stand at a place: references are followed and alternatives kept side by
side. It only guides conversions; the validator decides. Source: spec parse, steps 7 and 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

import structguard.schema as schemas
from structguard.types import JsonObject, JsonSchema, as_mapping, as_sequence, as_text, cached

Schema: TypeAlias = Mapping[str, object]
_MOST: Final = 64  # alternatives kept at one place
_NAMES: Final = 2000  # property names kept of one schema
_COMBINERS: Final = ("anyOf", "oneOf", "allOf")


_TYPES: Final[dict[type, str]] = {
    type(None): "null",
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
}


def json_type(value: object) -> str:
    """JSON Schema's name for the type of a plain JSON value."""
    return _TYPES.get(type(value), "object")


@dataclass(frozen=True)
class Target:
    """A format with its validator. Made once per `parse`; cheap until something does not fit."""

    format: JsonSchema
    validator: schemas.Validator

    @classmethod
    def of(cls, spec: object) -> Target | None:
        """
        The target of a caller's `schema` argument, None when there is none.

        Raises:
            ValueError: a broken schema, with the place. TypeError: no schema can be made of it.
        """
        asked = schemas.as_format(spec)
        if asked is None:
            return None
        if isinstance(asked, JsonObject):
            asked = JsonSchema(schema={"type": "object"})
        return cls(asked, schemas.validator(asked.schema))

    @cached
    def root(self) -> list[Schema]:
        """The alternatives at the top of the schema."""
        return self.expand([self.format.schema])

    @cached
    def types(self) -> set[str] | None:
        """The types the top may have, None for any."""
        return allowed(self.root)

    @cached
    def known(self) -> frozenset[str]:
        """Every property name in the schema."""
        names: set[str] = set()
        waiting: list[object] = [self.format.schema]
        while waiting and len(names) < _NAMES:
            item = waiting.pop()
            mapping = as_mapping(item)
            if mapping is not None:
                names.update(as_mapping(mapping.get("properties")) or ())
                waiting.extend(mapping.values())
            else:
                waiting.extend(as_sequence(item) or ())
        return frozenset(names)

    def expand(self, schemata: list[Schema]) -> list[Schema]:
        """References followed, anyOf, oneOf and allOf opened: everything that may apply here."""
        found: list[Schema] = []
        waiting = list(reversed(schemata))
        seen: set[int] = set()
        while waiting and len(found) < _MOST:
            part = waiting.pop()
            if id(part) in seen:
                continue
            seen.add(id(part))
            target = as_text(part.get("$ref"))
            if target is not None and (referred := self._resolve(target)) is not None:
                waiting.append(referred)
            inner = [p for word in _COMBINERS for p in _parts(part.get(word))]
            waiting.extend(reversed(inner))
            if target is None and (not inner or "properties" in part or "type" in part):
                found.append(part)
        return found

    def _resolve(self, pointer: str) -> Schema | None:
        if pointer != "#" and not pointer.startswith("#/"):
            return None
        place: object = self.format.schema
        for step in pointer[1:].split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            place = (as_mapping(place) or {}).get(name)
        return as_mapping(place)

    def members(self, alternatives: list[Schema], key: str) -> list[Schema]:
        """What may stand under a key."""
        found: list[Schema] = []
        for part in alternatives:
            named = as_mapping((as_mapping(part.get("properties")) or {}).get(key))
            if named is None and "patternProperties" not in part:
                named = as_mapping(part.get("additionalProperties"))
            if named is not None:
                found.append(named)
        return self.expand(found)

    def items(self, alternatives: list[Schema], index: int = 0) -> list[Schema]:
        """What may stand in an array at this index."""
        found: list[Schema] = []
        for part in alternatives:
            fixed = _parts(part.get("prefixItems"))
            item = fixed[index] if index < len(fixed) else as_mapping(part.get("items"))
            if item is not None:
                found.append(item)
        return self.expand(found)

    @cached
    def one_array(self) -> str | None:
        """The one property that is an array, when the top is an object with nothing else required."""
        names = {name for part in self.root for name in as_mapping(part.get("properties")) or ()}
        arrays = [n for n in names if allowed(self.members(self.root, n)) == {"array"}]
        needed = {name for part in self.root for name in as_sequence(part.get("required")) or ()}
        if len(arrays) == 1 and needed <= set(arrays):
            return arrays[0]
        return None

    def builds(self, value: object) -> bool:
        """Whether a value that fits the schema also makes an instance of the caller's type."""
        if self.format.source is None:
            return True
        try:
            self.build(value)
        except ValueError:
            return False
        return True

    def build(self, value: object) -> object:
        """The value as the caller's type; the value itself for a JSON Schema."""
        if self.format.source is None:
            return value
        return schemas.build(self.format, value)

    def unknown(self, value: object) -> int:
        """How many keys of an object the schema does not name; 0 where it leaves them open."""
        mapping = as_mapping(value)
        if mapping is None:
            return 0
        parts = [part for part in self.root if "properties" in part]
        if not parts or any(self._is_open(part) for part in parts):
            return 0
        names = {name for part in parts for name in as_mapping(part["properties"]) or ()}
        return sum(key not in names for key in mapping)

    @staticmethod
    def _is_open(part: Schema) -> bool:
        return as_mapping(part.get("additionalProperties")) is not None or (
            "patternProperties" in part
        )

    def shares_a_key(self, value: object) -> bool:
        """
        Whether an object has at least one key the schema names (true where it names none).

        Where the schema asks for a list, its items' keys count.
        """
        mapping = as_mapping(value)
        if not mapping or self._keys is None:
            return True
        return any(key in self._keys for key in mapping)

    @cached
    def _keys(self) -> frozenset[str] | None:
        """The keys the answer's object, or the objects of its list, may have; None for any."""
        parts = [part for part in self.root if "properties" in part]
        if not parts:
            parts = self.items(self.root)
        if not parts or any("properties" not in p or self._is_open(p) for p in parts):
            return None
        return frozenset(name for part in parts for name in as_mapping(part["properties"]) or ())


def _parts(value: object) -> list[Schema]:
    return [part for item in as_sequence(value) or () if (part := as_mapping(item)) is not None]


def allowed(alternatives: list[Schema]) -> set[str] | None:
    """The JSON types that the alternatives allow, None when one of them allows any."""
    types: set[str] = set()
    for part in alternatives:
        found = set(_types_of(part))
        if not found:
            return None
        types |= found
    return types or None


def _types_of(part: Schema) -> Iterator[str]:
    stated = part.get("type")
    if isinstance(stated, str):
        yield stated
    elif stated is not None:
        yield from (t for t in as_sequence(stated) or () if isinstance(t, str))
    elif "enum" in part:
        yield from map(json_type, as_sequence(part["enum"]) or ())
    elif "const" in part:
        yield json_type(part["const"])
    elif "properties" in part or "required" in part:
        yield "object"
    elif "items" in part:
        yield "array"


def choices(alternatives: list[Schema]) -> list[object]:
    """Every value that an enum or a const of the alternatives names."""
    found: list[object] = []
    for part in alternatives:
        found += as_sequence(part.get("enum")) or ()
        if "const" in part:
            found.append(part["const"])
    return found


def only_names(alternatives: list[Schema]) -> tuple[str, ...]:
    """The only strings that may stand at a place, none where that is not limited."""
    parts = [part for part in alternatives if "string" in (allowed([part]) or {"string"})]
    if not all("enum" in part or "const" in part for part in parts):
        return ()
    return tuple(name for name in choices(parts) if isinstance(name, str))
