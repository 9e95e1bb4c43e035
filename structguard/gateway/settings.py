"""Tables of a TOML file → frozen values: unknown keys refused with the nearest name, types checked."""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from structguard.errors import StructguardError
from structguard.types import as_mapping, as_sequence

T = TypeVar("T")


class ConfigError(StructguardError, ValueError):
    """A setting cannot be used; the message names the place and what to write instead."""


def option(default: T, about: str, *, words: tuple[str, ...] = (), above: float | None = None) -> T:
    """A field with its line in the reference, the words it may be, the bound it must exceed."""
    facts = {"about": about, "words": words, "above": above}
    return field(default=default, metadata=facts)


def options_of(made: type) -> tuple[Field[object], ...]:
    """The fields a file may set."""
    assert isinstance(made, type)  # noqa: S101
    return tuple(one for one in fields(cast("Any", made)) if "about" in one.metadata)


def read_table(made: type[T], table: Mapping[str, object], where: str) -> T:
    """
    The value of one table.

    Raises:
        ConfigError: an unknown key, or a value of another type or out of its range.
    """
    options = {one.name: one for one in options_of(made)}
    known(table, tuple(options), where)
    hints = get_type_hints(made)
    given = {
        name: _value(table[name], hints[name], options[name], f"{where}.{name}") for name in table
    }
    return made(**given)


def known(table: Mapping[str, object], names: Iterable[str], where: str) -> None:
    """
    Refuse keys nobody reads.

    Raises:
        ConfigError: an unknown key, with the nearest known one.
    """
    names = tuple(names)
    for key in table:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
            hint = f"; did you mean {near[0]!r}?" if near else f"; known: {', '.join(names)}"
            place = f"{where}.{key}" if where else key
            raise ConfigError(f"{place}: unknown key{hint}")


def _value(given: object, hint: object, one: Field[object], where: str) -> object:
    if get_origin(hint) is tuple:
        items = as_sequence(given)
        wanted = get_args(hint)[0]
        if items is None or not all(_is(item, wanted) for item in items):
            raise ConfigError(f"{where} must be a list of {_NAMES[wanted]}, got {given!r}")
        return tuple(items)
    if not _is(given, hint):
        raise ConfigError(f"{where} must be {_NAMES[hint]}, got {given!r}")
    words, above = one.metadata["words"], one.metadata["above"]
    if words and given not in words:
        raise ConfigError(f"{where} must be one of {', '.join(map(repr, words))}, got {given!r}")
    if above is not None and not cast("float", given) > above:
        raise ConfigError(f"{where} must be more than {above:g}, got {given!r}")
    return given


_NAMES: Mapping[object, str] = types.MappingProxyType(
    {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
)


def _is(value: object, hint: object) -> bool:
    if hint is bool:
        return isinstance(value, bool)
    if isinstance(value, bool):
        return False
    return (
        isinstance(value, int | float) if hint is float else isinstance(value, cast("type", hint))
    )


def subtables(table: Mapping[str, object], name: str, *, plain: bool = False) -> dict[str, Any]:
    """
    A table of tables; with `plain` a table of values.

    Raises:
        ConfigError: something else stands there.
    """
    found = as_mapping(table.get(name, {}))
    if found is None or (not plain and any(as_mapping(one) is None for one in found.values())):
        raise ConfigError(f"{name} must be a table" + ("" if plain else " of tables"))
    return dict(found)


def links_of(given: object) -> dict[str, tuple[str, ...]]:
    """
    The `[models]` table: alias → one link or a list of links.

    Raises:
        ConfigError: anything else.
    """
    table = as_mapping(given)
    if table is None:
        raise ConfigError("models must be a table of alias = [links]")
    made: dict[str, tuple[str, ...]] = {}
    for alias, links in table.items():
        items = [links] if isinstance(links, str) else as_sequence(links)
        if items is None or not all(isinstance(link, str) for link in items):
            raise ConfigError(f"models.{alias} must be provider:model or a list of such")
        made[alias] = tuple(str(link) for link in items)
    return made


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the reference."""

    table: str
    key: str
    default: object
    about: str


def reference(tables: Mapping[str, type]) -> list[Line]:
    """Every setting of these tables, in order."""
    return [
        Line(table, one.name, None if one.default is MISSING else one.default, _about(one))
        for table, made in tables.items()
        for one in options_of(made)
    ]


def _about(one: Field[object]) -> str:
    words = one.metadata["words"]
    spoken = ", ".join(f"`{word}`" for word in words if word)
    return str(one.metadata["about"]) + (f" ({spoken})" if words else "")
