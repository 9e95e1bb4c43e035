"""
The two engines behind a validator, and what they are known to judge differently.

jsonschema decides; jsonschema-rs (extra `fast`) answers the same question where it is installed. Both
are untyped or loosely typed: this is the one file that touches them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias, cast

from structguard.errors import redact
from structguard.schema.identity import pack, pointer
from structguard.types import as_mapping, as_sequence

Engine: TypeAlias = Literal["jsonschema", "jsonschema-rs"]
MESSAGE_LIMIT = 200  # characters of a violation's message
_LOOKED_AT = 4_000  # characters of an engine's sentence that are looked at for secrets


class Fault(Protocol):
    """What both engines' errors have in common, as far as it is used here."""

    @property
    def message(self) -> str: ...
    @property
    def validator(self) -> str | None: ...
    @property
    def absolute_path(self) -> Iterable[str | int]: ...
    @property
    def context(self) -> Sequence[Fault]: ...


class Compiled(Protocol):
    def is_valid(self, instance: object) -> bool: ...
    def iter_errors(self, instance: object) -> Iterator[Fault]: ...


# What the two engines are known to judge differently, as (keyword, does this value of it differ).
_DIFFERENT: Mapping[str, Callable[[object], bool]] = MappingProxyType(
    {
        "pattern": lambda value: not _is_plain_pattern(value),  # \d, $, . and friends
        "patternProperties": lambda value: not all(map(_is_plain_pattern, as_mapping(value) or ())),
        "multipleOf": lambda value: not isinstance(value, int),  # binary against decimal fractions
        "dependencies": lambda _value: True,  # asserted by one after draft 7
        "contentEncoding": lambda _value: True,  # asserted by one in drafts 6 and 7
        "contentMediaType": lambda _value: True,
        "unevaluatedItems": lambda _value: True,  # what counts as looked at, in nested cases
        "unevaluatedProperties": lambda _value: True,
        "$dynamicRef": lambda _value: True,
        "$recursiveRef": lambda _value: True,
        "$vocabulary": lambda _value: True,
    }
)
_PLAIN_PATTERN = re.compile(r"(?:[\w \-\[\]^|+*,:/@#%&=<>~;'\"]|\((?!\?)|\))*", re.ASCII)


def _is_plain_pattern(pattern: object) -> bool:
    """Whether Python's and ECMA's dialects read the pattern alike for certain."""
    return isinstance(pattern, str) and _PLAIN_PATTERN.fullmatch(pattern) is not None


_NAMES = frozenset({"properties", "$defs", "definitions", "dependentSchemas", "patternProperties"})


def differs(schema: Mapping[str, object], *, formats: bool) -> bool:
    """Whether anything in the schema is in the table of differences. Too careful rather than not."""
    return any(
        (formats and keyword == "format")
        or (keyword == "$schema" and part is not schema)  # another dialect inside
        or _DIFFERENT.get(keyword, _never)(inner)
        for part, keyword, inner in _keywords(schema)
    )


def runs_away(schema: Mapping[str, object]) -> bool:
    """
    Whether a pattern in it repeats what repeats or chooses, as (a+)+ does.

    There Python's re may take a time exponential in the value's length; the other engine does not.
    Too careful rather than not.
    """
    return any(
        any(map(_repeats_twice, [inner] if keyword == "pattern" else as_mapping(inner) or ()))
        for _, keyword, inner in _keywords(schema)
        if keyword in {"pattern", "patternProperties"}
    )


_PIECE = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{\d*,?\d*\}|.", re.DOTALL)


def _repeats_twice(pattern: object) -> bool:
    groups = [False]  # does each open one hold a repetition or a choice
    closed = False  # the token before closed one that does
    for atom in _PIECE.findall(pattern) if isinstance(pattern, str) else ():
        repeats = atom in {"*", "+"} or (len(atom) > 2 and atom[0] == "{")
        if repeats and closed:
            return True
        closed = atom == ")" and groups[-1]
        if atom == "(":
            groups.append(False)
        elif atom == ")" and len(groups) > 1:
            groups[-2:] = [groups[-2] or groups[-1]]
        elif repeats or atom == "|":
            groups[-1] = True
    return False


def _keywords(
    schema: Mapping[str, object],
) -> Iterator[tuple[Mapping[str, object], str, object]]:
    """Every keyword with its value and the part it stands in; names of properties are none."""
    waiting: list[object] = [schema]
    while waiting:
        value = waiting.pop()
        part = as_mapping(value)
        if part is None:
            waiting += as_sequence(value) or ()
            continue
        for keyword, inner in part.items():
            yield part, keyword, inner
            children = as_mapping(inner) if keyword in _NAMES else None
            waiting += (inner,) if children is None else children.values()


def _never(_value: object) -> bool:
    return False


_CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "2020-12": "Draft202012Validator",
        "2019-09": "Draft201909Validator",
        "7": "Draft7Validator",
        "6": "Draft6Validator",
        "4": "Draft4Validator",
        "3": "Draft3Validator",
    }
)


def compile_fast(
    schema: Mapping[str, object], draft: str, *, formats: bool = False, alone: bool = False
) -> Compiled | None:
    """
    The schema in jsonschema-rs; None where that is not installed or has something against it.
    It does not know draft 3, and reads draft 4 its own way: only where it reads it `alone`.
    """
    if draft == "3" or (draft == "4" and not alone):
        return None
    try:
        engine = import_module("jsonschema_rs")
    except ImportError:
        return None
    try:
        engine.meta.validate(schema)
        compiled = getattr(engine, _CLASSES[draft])(
            schema, validate_formats=formats, retriever=_refuse_to_fetch
        )
    except Exception:  # noqa: BLE001  whatever it is, jsonschema names the fault, or finds none
        return None
    return cast("Compiled", compiled)


def _refuse_to_fetch(address: str) -> object:
    raise ValueError(f"nothing is fetched: {address}")


def compile_slow(schema: Mapping[str, object], draft: str, *, formats: bool) -> Compiled:
    validator_class = _reference_class(draft)
    checker = validator_class.FORMAT_CHECKER if formats else None
    registry = import_module("jsonschema_specifications").REGISTRY  # the default one would fetch
    return cast("Compiled", validator_class(schema, registry=registry, format_checker=checker))


def _reference_class(draft: str) -> Any:
    return getattr(import_module("jsonschema"), _CLASSES[draft])  # 100 ms; who validates pays


def fault_of(schema: Mapping[str, object], draft: str) -> Fault | None:
    """What the schema breaks of its own draft's rules, by jsonschema; None when it is sound."""
    reference = _reference_class(draft)
    schema_error = cast("type[Exception]", import_module("jsonschema").SchemaError)
    try:
        reference.check_schema(schema)
    except RecursionError as error:
        raise ValueError("the JSON Schema is nested too deeply to be checked") from error
    except schema_error as error:
        return cast("Fault", error)
    return None


def broken(fault: Fault) -> str:
    """The sentence that names the place of a schema's fault, and what may help."""
    location = pointer(tuple(fault.absolute_path))
    hint = ""
    if fault.validator == "format" and find_spec("jsonschema_rs") is None:
        hint = " for Python; jsonschema-rs may read it: pip install 'structguard[fast]'"
    return f"the JSON Schema is broken at {location}: {in_short(fault.message)}{hint}"


@dataclass(frozen=True, slots=True)
class _RustFault:
    """A fault of jsonschema-rs with the names jsonschema gives its own."""

    message: str
    validator: str
    absolute_path: tuple[str | int, ...]
    context: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Rust:
    """jsonschema-rs where it alone can read a schema, or alone reads it in bounded time."""

    compiled: Any

    def is_valid(self, instance: object) -> bool:
        pack(instance, 2)  # its depth limit of 2,000 protects the engine's stack: no other is asked
        return bool(self.compiled.is_valid(instance))

    def iter_errors(self, instance: object) -> Iterator[Fault]:
        pack(instance, 2)
        for fault in self.compiled.iter_errors(instance):
            keyword = str(fault.schema_path[-1]) if fault.schema_path else ""
            yield _RustFault(fault.message, keyword, tuple(fault.instance_path))


def closest(fault: Fault) -> Fault:
    """The fault of the alternative that came closest, for anyOf and oneOf; else the fault itself."""
    best = import_module("jsonschema.exceptions").best_match([fault])
    return cast("Fault", best)


def in_short(text: str) -> str:
    """A sentence without secrets and, when it is long, without its middle (a huge value, mostly)."""
    if len(text) > _LOOKED_AT:
        text = f"{text[: _LOOKED_AT // 2]} … {text[-_LOOKED_AT // 2 :]}"
    text = redact(text)
    if len(text) <= MESSAGE_LIMIT:
        return text
    head = MESSAGE_LIMIT // 2
    return f"{text[:head]} … {text[head + 3 - MESSAGE_LIMIT :]}"
