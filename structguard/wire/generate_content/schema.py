"""
JSON Schema → the part of it that Google takes for a function's parameters.

The caller's schema is never changed. References are resolved in place, `const` becomes an `enum`,
`oneOf` an `anyOf`, a type with null `nullable`; keywords Google refuses are left out, as the
arguments are checked by whoever runs the function. Source: Google, "Schema" of the Gemini API.
"""

from __future__ import annotations

from collections.abc import Mapping

from structguard.types import as_mapping, as_sequence
from structguard.wire.base import Unencodable

_KEPT = frozenset({
    "type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems",
    "required", "minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example",
    "propertyOrdering", "default", "minimum", "maximum",
})  # fmt: skip
_LIMIT = 10_000  # subschemas, references resolved: a few lines can name a billion


def reduced(schema: Mapping[str, object]) -> dict[str, object]:
    """
    The schema as Google takes it.

    Raises:
        Unencodable: a reference that leads nowhere or into itself, or a schema too large.
    """
    return _Reducer(schema).reduce(schema, ())


class _Reducer:
    """One schema being reduced; `seen` holds the references that are being resolved."""

    def __init__(self, root: Mapping[str, object]) -> None:
        self._root = root
        self._left = _LIMIT

    def reduce(self, schema: Mapping[str, object], seen: tuple[str, ...]) -> dict[str, object]:
        """The part of the schema that Google takes."""
        self._left -= 1
        if self._left < 0:
            raise _no_place(f"a schema of more than {_LIMIT} parts")
        given = dict(schema)
        reference = given.pop("$ref", None)
        if isinstance(reference, str):
            if reference in seen:
                raise _no_place(f"a schema that refers to itself ({reference})")
            target = {**_target(reference, self._root), **given}
            return self.reduce(target, (*seen, reference))
        for part in as_sequence(given.pop("allOf", None)) or ():
            given = _both(self.reduce(as_mapping(part) or {}, seen), given)
        kept = {key: value for key, value in given.items() if key in _KEPT}
        _set_type(kept, given)
        self._set_children(kept, given, seen)
        return kept

    def _set_children(
        self, kept: dict[str, object], given: Mapping[str, object], seen: tuple[str, ...]
    ) -> None:
        properties = as_mapping(given.get("properties"))
        if properties is not None:
            kept["properties"] = {
                name: self.reduce(as_mapping(value) or {}, seen)
                for name, value in properties.items()
            }
        items = as_mapping(given.get("items"))
        if items is not None:
            kept["items"] = self.reduce(items, seen)
        choices = as_sequence(given.get("anyOf")) or as_sequence(given.get("oneOf"))
        if choices is None:
            return
        branches = [self.reduce(as_mapping(choice) or {}, seen) for choice in choices]
        real = [branch for branch in branches if branch.get("type") != "null"]
        if len(real) < len(branches):
            kept["nullable"] = True
        if len(real) == 1:
            kept.update({**real[0], **kept})
        else:
            kept["anyOf"] = real


def _both(part: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """Two schemas that must both hold: properties and required together, else the outer word."""
    properties = {
        **(as_mapping(part.get("properties")) or {}),
        **(as_mapping(given.get("properties")) or {}),
    }
    required = [
        *(as_sequence(part.get("required")) or ()),
        *(as_sequence(given.get("required")) or ()),
    ]
    whole = {**part, **given}
    if properties:
        whole["properties"] = properties
    if required:
        whole["required"] = list(dict.fromkeys(required))
    return whole


def _set_type(kept: dict[str, object], given: Mapping[str, object]) -> None:
    kinds = as_sequence(given.get("type"))
    if kinds is not None:
        named = [kind for kind in kinds if kind != "null"]
        if len(named) < len(kinds):
            kept["nullable"] = True
        if len(named) == 1:
            kept["type"] = named[0]
        else:
            del kept["type"]
            kept["anyOf"] = [{"type": kind} for kind in named]
    values = [given["const"]] if "const" in given else as_sequence(given.get("enum"))
    if values is not None:
        if all(isinstance(value, str) for value in values):
            kept["enum"] = list(values)
            kept.setdefault("type", "string")
        else:
            kept.pop("enum", None)  # Google's enums are strings


def _target(reference: str, root: Mapping[str, object]) -> Mapping[str, object]:
    value: object = root
    if not reference.startswith("#"):
        raise _no_place(f"a reference to another document ({reference})")
    for step in reference[1:].split("/")[1:]:
        value = (as_mapping(value) or {}).get(step.replace("~1", "/").replace("~0", "~"))
    found = as_mapping(value)
    if found is None:
        raise _no_place(f"a reference that leads nowhere ({reference})")
    return found


def _no_place(what: str) -> Unencodable:
    return Unencodable(f"the generate_content API does not support {what}", param="tools")
