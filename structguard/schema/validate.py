"""
JSON Schema → a compiled validator, kept per schema: does a value fit, and where does it not.

jsonschema decides; jsonschema-rs, where it is installed, answers the same question faster, but for
the schemas the two are known to judge differently (`engines`).
Source: spec parse "Rules", DESIGN "Decisions".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice
from typing import TypeAlias, cast

from structguard.schema.dialect import check_references, draft_of
from structguard.schema.engines import (
    Compiled,
    Engine,
    Fault,
    Rust,
    broken,
    closest,
    compile_fast,
    compile_slow,
    differs,
    fault_of,
    in_short,
    runs_away,
)
from structguard.schema.identity import canonical, fingerprint, pack, pointer, unpack

Path: TypeAlias = tuple[str | int, ...]
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


@dataclass(frozen=True, slots=True)
class Validator:
    """
    A compiled JSON Schema. `engine` tells who answers; values are plain JSON (dict, list, str, …).

    Safe to share between threads. A value nested too deeply is a violation, never a RecursionError.
    """

    schema: Mapping[str, object] = field(repr=False)
    draft: str
    engine: Engine
    _fast: Compiled | None = field(repr=False)
    _slow: Callable[[], Compiled] = field(repr=False)
    _recursive: bool = field(repr=False)

    def is_valid(self, value: object) -> bool:
        """Whether the value fits the schema."""
        if self._fast is not None:
            try:
                if self._recursive:
                    pack(value, 2)  # its depth limit of 2,000 protects the engine's stack
                return self._fast.is_valid(value)
            except Exception:  # noqa: BLE001, S110  no verdict (odd characters, limits): ask the other
                pass
        try:
            return self._slow().is_valid(value)
        except Exception:  # noqa: BLE001  too deep, or a fault of the engine: `errors` says which
            return False

    def errors(self, value: object, *, limit: int = 20) -> tuple[Violation, ...]:
        """What does not fit, in the schema's order; () when all does. At most `limit`."""
        if self.is_valid(value):
            return ()
        try:
            found = tuple(_violation(f) for f in islice(self._slow().iter_errors(value), limit))
        except RecursionError:
            return (Violation((), "depth", _TOO_DEEP),)
        except Exception as error:  # noqa: BLE001  an engine must not crash on a model's answer
            why = in_short(f"the value cannot be checked: {type(error).__name__}: {error}")
            found = (Violation((), "error", why),)
        return found or (Violation((), "schema", f"{self.engine} finds that it does not fit"),)


def validator(schema: Mapping[str, object], *, formats: bool = False) -> Validator:
    """
    The validator of a schema, compiled once and kept (the last 256).

    The draft is the one `$schema` names, else 2020-12. `formats` also asserts `format`, as far as
    jsonschema's own checkers go. A pattern that could keep Python's re busy for ever, such as (a+)+,
    is left to jsonschema-rs where that is installed, and to re where it is not.

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
    fast = None if differs(schema, formats=formats) else compile_fast(schema, draft)
    slow: Callable[[], Compiled]
    slow = lru_cache(maxsize=1)(lambda: compile_slow(schema, draft, formats=formats))
    fault = None if fast else fault_of(schema, draft)
    # A pattern such as \p{L} is sound, Python's re only cannot read it; on one such as (a+)+ it may
    # take for ever. The other engine reads both.
    if runs_away(schema) if fault is None else fault.validator == "format":
        fast = fast or compile_fast(schema, draft, formats=formats, alone=True)
        slow = slow if fast is None else partial(Rust, fast)
    if fault is not None and fast is None:
        raise ValueError(broken(fault))
    if refers:
        check_references(schema, draft)
    return Validator(
        schema=schema,
        draft=draft,
        engine="jsonschema-rs" if fast else "jsonschema",
        _fast=fast,
        _slow=slow,
        _recursive=refers,
    )


def _violation(fault: Fault) -> Violation:
    text = in_short(fault.message)
    if fault.context:  # anyOf, oneOf: say which alternative came closest, and what it lacks
        best = closest(fault)
        if best is not fault:
            where = pointer(tuple(best.absolute_path))
            text = in_short(f"fits none of the alternatives; closest at {where}: {best.message}")
    return Violation(tuple(fault.absolute_path), fault.validator or "false", text)
