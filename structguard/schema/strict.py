"""
A JSON Schema → one that OpenAI's strict mode takes, and what stands in the way.

Strict mode takes a subset: objects whose keys are all named and all required, anyOf but neither allOf
nor conditions, a few limits per type, and sizes that are bounded. An optional key becomes one that may
be null. Source: platform.openai.com/docs/guides/structured-outputs, "Supported schemas".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TypeAlias

from structguard.schema.identity import plain_copy, pointer
from structguard.schema.limits import over_limits
from structguard.types import as_mapping, as_sequence, as_text

Path: TypeAlias = tuple[str | int, ...]
Part: TypeAlias = dict[str, object]


@dataclass(frozen=True, slots=True)
class Problem:
    """A place in the schema and what is the matter there."""

    path: Path
    why: str

    def __str__(self) -> str:
        return f"{pointer(self.path)}: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strictified:
    """
    The schema as far as it could be made to fit, what could not (`problems`), and what was done
    (`changes`). With problems left, an endpoint in strict mode will refuse the schema.
    """

    schema: Mapping[str, object]
    problems: tuple[Problem, ...] = ()
    changes: tuple[Problem, ...] = ()

    @property
    def fits(self) -> bool:
        """Whether strict mode takes `schema`."""
        return not self.problems


def strictify(schema: Mapping[str, object]) -> Strictified:
    """
    Make a schema fit OpenAI's strict mode; the given one is left as it is.

    Constraints that strict mode does not know are taken out and listed under `changes`: check the
    answer against the original schema all the same. A key that was optional may come back as null.

    Raises:
        ValueError: the schema is not plain JSON.
    """
    notes = _Notes()
    fitted = _fit(_inlined_root(plain_copy(schema), notes), (), notes)
    if fitted.get("type") != "object":
        notes.problem((), "make it an object, with this schema under one property")
    notes.problems.extend(Problem(path, why) for path, why in over_limits(fitted))
    return Strictified(schema=fitted, problems=tuple(notes.problems), changes=tuple(notes.changes))


def advise(schema: Mapping[str, object]) -> str:
    """One line on what strict mode would have against the schema; "" when it has nothing."""
    result = strictify(schema)
    notes = [*result.problems, *result.changes]
    if not notes:
        return ""
    more = f" (+{len(notes) - 3} more)" if len(notes) > 3 else ""
    steps = "; ".join(f"{problem.why} ({pointer(problem.path)})" for problem in notes[:3])
    return f"For strict mode: {steps}{more}."


@dataclass(frozen=True, slots=True)
class _Notes:
    problems: list[Problem] = field(default_factory=list[Problem])
    changes: list[Problem] = field(default_factory=list[Problem])

    def problem(self, path: Path, why: str) -> None:
        self.problems.append(Problem(path, why))

    def change(self, path: Path, why: str) -> None:
        self.changes.append(Problem(path, why))


_KEPT = frozenset({
    "type", "title", "description", "enum", "const", "anyOf", "$ref", "$defs", "definitions",
    "properties", "required", "additionalProperties", "items", "minItems", "maxItems",
    "pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
})  # fmt: skip
_SILENT = frozenset({"$schema", "$id", "$comment", "discriminator", "examples", "readOnly",
                     "writeOnly", "deprecated"})  # fmt: skip
"""Left out without a word: they say nothing about what a value must be."""

_IMPOSSIBLE: Mapping[str, str] = MappingProxyType(
    {
        "allOf": "write the parts of 'allOf' out as one schema",
        "not": "'not' is not known",
        "if": "conditions ('if') are not known: use 'anyOf'",
        "dependentRequired": "'dependentRequired' is not known: use 'anyOf'",
        "dependentSchemas": "'dependentSchemas' is not known: use 'anyOf'",
        "dependencies": "'dependencies' is not known: use 'anyOf'",
        "patternProperties": "keys by pattern are not known: name every key, or use a list of pairs",
        "prefixItems": "positions of a list are not known: use an object with one key a position",
        "$dynamicRef": "'$dynamicRef' is not known: use '$ref'",
    }
)
_FORMATS = frozenset({
    "date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid",
})  # fmt: skip


def _fit(given: object, path: Path, notes: _Notes) -> Part:
    """One subschema and all below it, made to fit."""
    part = as_mapping(given)
    if not part:
        notes.problem(
            path,
            "anything goes here: name a type" if given in ({}, True) else "nothing can fit here",
        )
        return {}
    fitted = _known_keywords(_rewritten(dict(part), path, notes), path, notes)
    for keyword, fit in _BELOW.items():
        if keyword in fitted:
            fitted[keyword] = fit(fitted[keyword], (*path, keyword), notes)
    _type_named(fitted, path, notes)
    if fitted.get("type") == "object" or "properties" in fitted:
        _closed(fitted, path, notes)
    if _has_type(fitted, "array") and not {"items", "prefixItems"} & set(part):
        notes.problem(path, "a list needs 'items'")
    return fitted


def _rewritten(part: Part, path: Path, notes: _Notes) -> Part:
    """oneOf as anyOf, an allOf of one part merged, a reference alone, positions as prefixItems."""
    if as_sequence(part.get("items")) is not None:  # as drafts before 2020-12 write it
        part["prefixItems"] = part.pop("items")
    if "oneOf" in part and "anyOf" not in part:
        part["anyOf"] = part.pop("oneOf")
        notes.change(path, "use 'anyOf' instead of 'oneOf'")
    parts = as_sequence(part.get("allOf")) or ()
    only = as_mapping(parts[0]) if len(parts) == 1 else None
    if only is not None and not set(only) & (set(part) - {"title", "description"}):
        del part["allOf"]
        part = {**only, **part}
        notes.change(path, "write the one part of 'allOf' in its place")
    reference = part.get("$ref")
    if isinstance(reference, str) and not reference.startswith("#"):
        notes.problem(path, f"'$ref' leads out to {reference!r}: put that schema under $defs")
    beside = set(part) - {"$ref", "$defs", "definitions"} - _SILENT
    if "$ref" in part and beside:
        reference = {"$ref": part.pop("$ref")}
        part["anyOf"] = [reference]
        notes.change(path, f"nothing may stand beside '$ref': {', '.join(sorted(beside))}")
        for keyword in beside - {"title", "description"}:
            del part[keyword]
    return part


def _known_keywords(part: Part, path: Path, notes: _Notes) -> Part:
    """The keywords strict mode knows; the others are noted, each in its class."""
    fitted: Part = {}
    for keyword, value in part.items():
        if keyword in _KEPT and not (keyword == "format" and value not in _FORMATS):
            fitted[keyword] = value
        elif keyword in _IMPOSSIBLE:
            notes.problem(path, _IMPOSSIBLE[keyword])
        elif keyword not in _SILENT and not (keyword in {"then", "else"} and "if" in part):
            name = f"'format' {value!r}" if keyword == "format" else f"{keyword!r}"
            notes.change(path, f"leave out {name}")
    return fitted


def _fit_each(given: object, path: Path, notes: _Notes) -> object:
    return [_fit(v, (*path, i), notes) for i, v in enumerate(as_sequence(given) or ())]


def _fit_named(given: object, path: Path, notes: _Notes) -> object:
    return {k: _fit(v, (*path, k), notes) for k, v in (as_mapping(given) or {}).items()}


_BELOW: Mapping[str, Callable[[object, Path, _Notes], object]] = MappingProxyType(
    {
        "properties": _fit_named,
        "$defs": _fit_named,
        "definitions": _fit_named,
        "anyOf": _fit_each,
        "items": _fit,
    }
)


def _type_named(part: Part, path: Path, notes: _Notes) -> None:
    """Add the type that the other keywords imply; strict mode wants it said."""
    if {"type", "anyOf", "$ref"} & set(part):
        return
    values = as_sequence(part.get("enum")) or ([part["const"]] if "const" in part else [])
    types = list(dict.fromkeys(_type_of(value) for value in values))
    if "properties" in part:
        types = ["object"]
    elif "items" in part:
        types = ["array"]
    if not types:
        notes.problem(path, "name a type")
        return
    part["type"] = types[0] if len(types) == 1 else types
    notes.change(path, f"name the type: {' or '.join(types)}")


def _closed(part: Part, path: Path, notes: _Notes) -> None:
    """An object takes exactly its named keys; those that were optional may be null."""
    properties = dict(as_mapping(part.get("properties")) or {})
    more = part.get("additionalProperties", True)
    if not properties and more is not False:
        notes.problem(path, "free keys are not known: name every key, or use a list of pairs")
    elif as_mapping(more):
        notes.problem(path, "keys beside the named ones are not known: use a list of pairs")
    elif more is not False:
        notes.change(path, "set 'additionalProperties' to false")
    required = as_sequence(part.get("required")) or ()
    for name, inner in properties.items():
        if name not in required:
            properties[name] = _nullable(dict(as_mapping(inner) or {}))
            notes.change((*path, "properties", name), "list it in 'required' and let it be null")
    part.update(properties=properties, required=list(properties), additionalProperties=False)


def _nullable(part: Part) -> Part:
    """The same schema, with null as one more value."""
    null: Part = {"type": "null"}
    options = as_sequence(part.get("anyOf"))
    if options is not None:
        return part if null in options else {**part, "anyOf": [*options, null]}
    if "$ref" in part or "const" in part or "type" not in part:
        return {"anyOf": [part, null]}
    types = [part["type"]] if isinstance(part["type"], str) else as_sequence(part["type"]) or ()
    nullable = {**part, "type": list(dict.fromkeys([*types, "null"]))}
    values = as_sequence(part.get("enum"))
    if values is not None and None not in values:
        nullable["enum"] = [*values, None]
    return nullable


def _inlined_root(whole: Part, notes: _Notes) -> Part:
    """A top level that only refers to a definition gets that definition's keywords."""
    passed: set[str] = set()
    inlined = whole
    while True:
        reference = as_text(inlined.get("$ref")) or ""
        _, holder, name = (*reference.split("/", 2), "", "")[:3]
        definitions = as_mapping(whole.get(holder)) if holder in {"$defs", "definitions"} else None
        target = as_mapping((definitions or {}).get(name.replace("~1", "/").replace("~0", "~")))
        if target is None or reference in passed:
            break
        passed.add(reference)
        inlined = {**target, **{key: value for key, value in inlined.items() if key != "$ref"}}
    if passed:
        notes.change((), "write the referred definition out at the top level")
    return inlined


def _has_type(part: Mapping[str, object], name: str) -> bool:
    given = part.get("type")
    return given == name or name in (as_sequence(given) or ())


def _type_of(value: object) -> str:
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    return "object"


_TYPES: Sequence[tuple[type, str]] = (
    (type(None), "null"),
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
)
