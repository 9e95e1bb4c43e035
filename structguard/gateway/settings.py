"""Tables of a TOML file → frozen values: unknown keys refused with the nearest name, types checked."""

from __future__ import annotations

import difflib
import types
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from structguard.errors import StructguardError
from structguard.types import as_mapping, as_sequence

T = TypeVar("T")


class ConfigError(StructguardError, ValueError):
    """A setting cannot be used; the message names the place and what to write instead."""


@contextmanager
def placed(where: str) -> Generator[None]:
    """
    Whoever uses a setting may refuse it, and does not know where it stands.

    Raises:
        ConfigError: its ValueError, with the place.
    """
    try:
        yield
    except ConfigError:
        raise
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from error


def option(default: T, about: str, *, words: tuple[str, ...] = (), above: float | None = None) -> T:
    """A field with its line in the reference, the words it may be, the bound it must exceed."""
    facts = {"about": about, "words": words, "above": above}
    return field(default=default, metadata=facts)


def options_of(settings: type) -> tuple[Field[object], ...]:
    """The fields a file may set."""
    assert isinstance(settings, type)  # noqa: S101
    return tuple(each for each in fields(cast("Any", settings)) if "about" in each.metadata)


def read_table(settings: type[T], table: Mapping[str, object], where: str) -> T:
    """
    The value of one table.

    Raises:
        ConfigError: an unknown key, or a value of another type or out of its range.
    """
    options = {each.name: each for each in options_of(settings)}
    known(table, tuple(options), where)
    hints = get_type_hints(settings)
    values = {
        name: _value(table[name], hints[name], options[name], f"{where}.{name}") for name in table
    }
    return settings(**values)


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
            path = f"{where}.{key}" if where else key
            raise ConfigError(f"{path} is an unknown key{hint}")


def _value(value: object, hint: object, field_: Field[object], where: str) -> object:
    if get_origin(hint) is tuple:
        items = as_sequence(value)
        item_type = get_args(hint)[0]
        if items is None or not all(_is(item, item_type) for item in items):
            raise ConfigError(f"{where} must be a list of {_NAMES[item_type]}, got {value!r}")
        return tuple(items)
    if not _is(value, hint):
        raise ConfigError(f"{where} must be {_NAMES[hint]}, got {value!r}")
    words, above = field_.metadata["words"], field_.metadata["above"]
    if words and value not in words:
        raise ConfigError(f"{where} must be one of {', '.join(map(repr, words))}, got {value!r}")
    if above is not None and not cast("float", value) > above:
        raise ConfigError(f"{where} must be more than {above:g}, got {value!r}")
    return value


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
    if found is None or (not plain and any(as_mapping(inner) is None for inner in found.values())):
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
    result: dict[str, tuple[str, ...]] = {}
    for alias, links in table.items():
        items = [links] if isinstance(links, str) else as_sequence(links)
        if items is None or not all(isinstance(link, str) for link in items):
            raise ConfigError(f"models.{alias} must be provider:model or a list of such")
        result[alias] = tuple(str(link) for link in items)
    return result


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
        Line(table, each.name, None if each.default is MISSING else each.default, _about(each))
        for table, settings in tables.items()
        for each in options_of(settings)
    ]


def _about(field_: Field[object]) -> str:
    words = field_.metadata["words"]
    choices = ", ".join(f"`{word}`" for word in words if word)
    return str(field_.metadata["about"]) + (f" ({choices})" if words else "")
