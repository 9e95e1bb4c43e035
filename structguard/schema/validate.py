"""
JSON Schema → a compiled validator, kept per schema: does a value fit, and where does it not.

jsonschema decides; jsonschema-rs, where it is installed, answers the same question faster. The
`_DIFFERENT` table names what they are known to judge differently; such schemas stay with jsonschema.
Source: spec parse "Rules", DESIGN "Decisions".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from itertools import islice
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias, cast

from structguard.errors import redact
from structguard.schema.dialect import check_references, draft_of
from structguard.schema.identity import canonical, fingerprint, pack, pointer, unpack
from structguard.types import as_mapping, as_sequence

Engine: TypeAlias = Literal["jsonschema", "jsonschema-rs"]
Path: TypeAlias = tuple[str | int, ...]
MESSAGE_LIMIT = 200  # characters of a violation's message
_LOOKED_AT = 4_000  # characters of an engine's sentence that are looked at for secrets
_KEPT = 256  # compiled validators; the least recently used go first
_TOO_DEEP = "the value is nested too deeply to be checked"


@dataclass(frozen=True, slots=True)
class Violation:
    """One way a value does not fit: where in the value, which keyword, in words (≤ 200 chars)."""

    path: Path
    keyword: str
    message: str

    def __str__(self) -> str:
        return f"{pointer(self.path)}: {self.message}"


class _Fault(Protocol):
    """What both engines' errors have in common, as far as it is used here."""

    message: str
    validator: str | None
    absolute_path: Iterable[str | int]
    context: Sequence[_Fault]


class _Compiled(Protocol):
    def is_valid(self, instance: object) -> bool: ...
    def iter_errors(self, instance: object) -> Iterator[_Fault]: ...


@dataclass(frozen=True, slots=True)
class Validator:
    """
    A compiled JSON Schema. `engine` tells who answers; values are plain JSON (dict, list, str, …).

    Safe to share between threads. A value nested too deeply is a violation, never a RecursionError.
    """

    schema: Mapping[str, object] = field(repr=False)
    draft: str
    engine: Engine
    _fast: _Compiled | None = field(repr=False)
    _slow: Callable[[], _Compiled] = field(repr=False)
    _recursive: bool = field(repr=False)

    def is_valid(self, value: object) -> bool:
        """Whether the value fits the schema."""
        if self._fast is not None:
            try:
                if self._recursive:
                    pack(value, 2)  # its depth limit of 2,000 protects the engine's stack
                return self._fast.is_valid(value)
            except ValueError:  # not a verdict: odd characters, limits; the slow engine decides
                pass
        try:
            return self._slow().is_valid(value)
        except RecursionError:
            return False

    def errors(self, value: object, *, limit: int = 20) -> tuple[Violation, ...]:
        """What does not fit, in the schema's order; () when all does. At most `limit`."""
        if self.is_valid(value):
            return ()
        try:
            found = tuple(_violation(f) for f in islice(self._slow().iter_errors(value), limit))
        except RecursionError:
            return (Violation((), "depth", _TOO_DEEP),)
        return found or (Violation((), "schema", f"{self.engine} finds that it does not fit"),)


def validator(schema: Mapping[str, object], *, formats: bool = False) -> Validator:
    """
    The validator of a schema, compiled once and kept (the last 256).

    The draft is the one `$schema` names, else 2020-12. `formats` also asserts `format`, as far as
    jsonschema's own checkers go.

    Raises:
        ValueError: the schema is broken or a reference leads out or nowhere, with the place.
    """
    packed = fingerprint(schema)
    return _of_text(canonical(schema), formats) if packed is None else _of_packed(packed, formats)


@lru_cache(maxsize=_KEPT)
def _of_packed(packed: bytes, formats: bool) -> Validator:  # noqa: FBT001
    return _of_text(canonical(unpack(packed)), formats)


@lru_cache(maxsize=_KEPT)
def _of_text(text: str, formats: bool) -> Validator:  # noqa: FBT001
    schema = cast("Mapping[str, object]", json.loads(text))
    draft = draft_of(schema)
    refers = '"$ref"' in text or '"$dynamicRef"' in text or '"$recursiveRef"' in text
    fast = None if _differs(schema, formats=formats) else _compile_fast(schema, draft)
    if fast is None:
        _check_schema(schema, draft)
    if refers:
        check_references(schema, draft)
    return Validator(
        schema=schema,
        draft=draft,
        engine="jsonschema" if fast is None else "jsonschema-rs",
        _fast=fast,
        _slow=_once(lambda: _compile_slow(schema, draft, formats=formats)),
        _recursive=refers,
    )


def _once(make: Callable[[], _Compiled]) -> Callable[[], _Compiled]:
    return lru_cache(maxsize=1)(make)


# What the two engines are known to judge differently, as (keyword, does this value of it differ).
_DIFFERENT: Mapping[str, Callable[[object], bool]] = MappingProxyType(
    {
        "pattern": lambda value: not _is_plain_pattern(value),  # \d, $, . and friends
        "patternProperties": lambda value: not all(map(_is_plain_pattern, as_mapping(value) or ())),
        "multipleOf": lambda value: not isinstance(value, int),  # binary against decimal fractions
        "contentEncoding": lambda _value: True,  # asserted by one in drafts 6 and 7
        "contentMediaType": lambda _value: True,
        "$dynamicRef": lambda _value: True,
        "$recursiveRef": lambda _value: True,
        "$vocabulary": lambda _value: True,
    }
)
_PLAIN_PATTERN = re.compile(r"(?:[\w \-\[\]^|+*,:/@#%&=<>~;'\"]|\((?!\?)|\))*", re.ASCII)


def _is_plain_pattern(pattern: object) -> bool:
    """Whether Python's and ECMA's dialects read the pattern alike for certain."""
    return isinstance(pattern, str) and _PLAIN_PATTERN.fullmatch(pattern) is not None


def _differs(schema: Mapping[str, object], *, formats: bool) -> bool:
    """Whether anything in the schema (wherever it stands) is in the table of differences."""
    waiting: list[object] = list(schema.values())
    parts: list[Mapping[str, object]] = [schema]
    while waiting:
        value = waiting.pop()
        mapping = as_mapping(value)
        if mapping is not None:
            if "$schema" in mapping:
                return True  # another dialect inside
            parts.append(mapping)
            waiting += mapping.values()
        else:
            waiting += as_sequence(value) or ()
    return any(
        (formats and keyword == "format") or (keyword in _DIFFERENT and _DIFFERENT[keyword](value))
        for part in parts
        for keyword, value in part.items()
    )


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


def _compile_fast(schema: Mapping[str, object], draft: str) -> _Compiled | None:
    """The schema in jsonschema-rs; None where that is not installed or has something against it."""
    if draft in {"3", "4"}:
        return None
    try:
        engine = import_module("jsonschema_rs")
    except ImportError:
        return None
    try:
        engine.meta.validate(schema)
        made = getattr(engine, _CLASSES[draft])(
            schema, validate_formats=False, retriever=_refuse_to_fetch
        )
    except Exception:  # noqa: BLE001  whatever it is, jsonschema names the fault, or finds none
        return None
    return cast("_Compiled", made)


def _refuse_to_fetch(address: str) -> object:
    raise ValueError(f"nothing is fetched: {address}")


def _compile_slow(schema: Mapping[str, object], draft: str, *, formats: bool) -> _Compiled:
    made = _reference_class(draft)
    checker = made.FORMAT_CHECKER if formats else None
    registry = import_module("jsonschema_specifications").REGISTRY  # the default one would fetch
    return cast("_Compiled", made(schema, registry=registry, format_checker=checker))


def _reference_class(draft: str) -> Any:
    return getattr(import_module("jsonschema"), _CLASSES[draft])  # 100 ms; who validates pays


def _check_schema(schema: Mapping[str, object], draft: str) -> None:
    """Raise ValueError with the place when the schema breaks its own draft's rules."""
    reference = _reference_class(draft)
    broken = cast("type[Exception]", import_module("jsonschema").SchemaError)
    try:
        reference.check_schema(schema)
    except RecursionError as error:
        raise ValueError("the JSON Schema is nested too deeply to be checked") from error
    except broken as error:
        fault = cast("_Fault", error)
        place = pointer(tuple(fault.absolute_path))
        raise ValueError(
            f"the JSON Schema is broken at {place}: {in_short(fault.message)}"
        ) from error


def _violation(fault: _Fault) -> Violation:
    text = in_short(fault.message)
    if fault.context:  # anyOf, oneOf: say which alternative came closest, and what it lacks
        best = cast("_Fault", import_module("jsonschema.exceptions").best_match([fault]))
        if best is not fault:
            where = pointer(tuple(best.absolute_path))
            text = in_short(f"fits none of the alternatives; closest at {where}: {best.message}")
    return Violation(tuple(fault.absolute_path), fault.validator or "false", text)


def in_short(text: str) -> str:
    """A sentence without secrets and, when it is long, without its middle (a huge value, mostly)."""
    if len(text) > _LOOKED_AT:
        text = f"{text[: _LOOKED_AT // 2]} … {text[-_LOOKED_AT // 2 :]}"
    text = redact(text)
    if len(text) <= MESSAGE_LIMIT:
        return text
    head = MESSAGE_LIMIT // 2
    return f"{text[:head]} … {text[head + 3 - MESSAGE_LIMIT :]}"
