"""
Which draft a schema is written in, and whether every reference in it stays inside.

The registry holds the published meta-schemas, which come with the package; nothing is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, cast

from structguard.schema.identity import pointer
from structguard.types import as_mapping, as_sequence, as_text

if TYPE_CHECKING:
    from referencing import Specification
    from referencing._core import Resolver

DEFAULT = "2020-12"
DRAFTS: Mapping[str, str] = MappingProxyType(
    {
        "json-schema.org/draft/2020-12/schema": "2020-12",
        "json-schema.org/draft/2019-09/schema": "2019-09",
        "json-schema.org/draft-07/schema": "7",
        "json-schema.org/draft-06/schema": "6",
        "json-schema.org/draft-04/schema": "4",
        "json-schema.org/draft-03/schema": "3",
        "json-schema.org/schema": DEFAULT,
    }
)
_REFERENCES = ("$ref", "$dynamicRef")
_MOST_IN_PLACE = 20_000  # subschemas for one place of a value, about a second of jsonschema's time


def draft_of(schema: Mapping[str, object]) -> str:
    """
    The draft that `$schema` names; 2020-12 when it names none.

    Raises:
        ValueError: a dialect nobody here knows.
    """
    dialect = schema.get("$schema")
    if dialect is None:
        return DEFAULT
    address = dialect.partition("://")[2].rstrip("#") if isinstance(dialect, str) else ""
    draft = DRAFTS.get(address)
    if draft is None:
        raise ValueError(
            f"the JSON Schema is written in an unknown dialect at /$schema: {dialect!r}; known are"
            f" drafts {', '.join(dict.fromkeys(DRAFTS.values()))} of json-schema.org"
        )
    return draft


def check_references(schema: Mapping[str, object], draft: str) -> None:
    """
    Resolve every reference of the schema once, without the network.

    Raises:
        ValueError: a reference that leads nowhere, out to an address, or back to itself without
            going deeper into the value, or references that multiply; with the place.
    """
    from referencing.exceptions import Unresolvable  # noqa: PLC0415  only schemas with references

    specification = _specification(draft)
    registry = import_module("jsonschema_specifications").REGISTRY
    root = cast(
        "Resolver[object]", registry.resolver_with_root(specification.create_resource(schema))
    )
    waiting: list[tuple[object, Resolver[object]]] = [(schema, root)]
    visited: dict[int, _Part] = {}
    while waiting:
        contents, outer = waiting.pop()
        mapping = as_mapping(contents)
        if mapping is None or id(mapping) in visited:
            continue
        part = visited[id(mapping)] = _Part(mapping, [*_in_place(mapping)])
        resource = specification.create_resource(mapping)
        resolver = outer if mapping is schema else outer.in_subresource(resource)
        for keyword, reference in _references_of(mapping):
            try:
                target = resolver.lookup(reference)
            except (Unresolvable, ValueError, TypeError, KeyError) as error:
                raise ValueError(_nowhere(schema, mapping, keyword, reference)) from error
            part.in_place.append(target.contents)
            waiting.append((target.contents, target.resolver))
        waiting += [(inner.contents, resolver) for inner in resource.subresources()]
    for endless, why in _endless(visited):
        location = pointer(_path_to(schema, endless))
        raise ValueError(f"the JSON Schema at {location} {why}, so checking would never end")


@dataclass(frozen=True, slots=True)
class _Part:
    """A subschema and the subschemas that look at the same place of the value as it does."""

    contents: Mapping[str, object]
    in_place: list[object]


def _in_place(part: Mapping[str, object]) -> Iterator[object]:
    for keyword in ("not", "if", "then", "else"):
        yield part.get(keyword)
    for keyword in ("allOf", "anyOf", "oneOf", "extends"):
        yield from as_sequence(part.get(keyword)) or ()
    for keyword in ("dependentSchemas", "dependencies"):
        yield from (as_mapping(part.get(keyword)) or {}).values()


def _endless(parts: Mapping[int, _Part]) -> Iterator[tuple[object, str]]:
    """
    Subschemas that reach themselves in place, or so many others that it comes to the same: thirty
    definitions that name the next one twice are a billion. Depth first, without recursion.
    """
    done: dict[int, int] = {}  # how many subschemas each one comes to
    for start in parts:
        trail: dict[int, Iterator[object]] = {}
        step: int | None = start
        while step is not None or trail:
            if step is not None:
                trail[step] = iter(parts[step].in_place)
            here = next(reversed(trail))
            step = next(
                (id(to) for to in trail[here] if id(to) in parts and id(to) not in done), None
            )
            if step is None:
                done[here] = 1 + sum(done.get(id(to), 0) for to in parts[here].in_place)
                if done[here] > _MOST_IN_PLACE:
                    yield parts[here].contents, "multiplies by its references"
                del trail[here]
            elif step in trail:
                yield (
                    parts[step].contents,
                    "refers back to itself without going deeper into the value",
                )
                return


def _specification(draft: str) -> Specification[object]:
    from referencing import jsonschema  # noqa: PLC0415

    found = {
        "2020-12": jsonschema.DRAFT202012,
        "2019-09": jsonschema.DRAFT201909,
        "7": jsonschema.DRAFT7,
        "6": jsonschema.DRAFT6,
        "4": jsonschema.DRAFT4,
        "3": jsonschema.DRAFT3,
    }[draft]
    return cast("Specification[object]", found)


def _references_of(part: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for keyword in _REFERENCES:
        reference = as_text(part.get(keyword))
        if reference is not None:
            yield keyword, reference


def _nowhere(
    schema: Mapping[str, object], part: Mapping[str, object], keyword: str, reference: str
) -> str:
    location = pointer((*_path_to(schema, part), keyword))
    if reference.startswith("#"):
        return f"the JSON Schema refers to {reference!r} at {location}, and nothing is there"
    return (
        f"the JSON Schema refers to {reference!r} at {location}; nothing is fetched from the network:"
        " put that schema under $defs"
    )


def _path_to(schema: object, part: object) -> tuple[str | int, ...]:
    """Where in the schema this very object stands; () when it is not in it (a meta-schema's)."""
    waiting: list[tuple[object, tuple[str | int, ...]]] = [(schema, ())]
    while waiting:
        value, path = waiting.pop()
        if value is part:
            return path
        mapping = as_mapping(value)
        if mapping is not None:
            waiting += [(inner, (*path, key)) for key, inner in mapping.items()]
        else:
            waiting += [(v, (*path, i)) for i, v in enumerate(as_sequence(value) or ())]
    return ()
