"""
What a stored entry must look like, field by field: a store may hold anything.

Source: spec guard §3 "Entry".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from structguard.events import Verdict
from structguard.types import Api, Flag, FormatKind, Scope

VERSION = 1  # of the stored text; entries of another version are ignored, never deleted
MAX_EVIDENCE = 200  # characters


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def is_time(value: object) -> bool:
    """Whether it is a moment an entry can hold, in wall seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) < 1e12  # false for NaN and infinity too: they would never fall due


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _one_of(literal: object) -> Callable[[object], bool]:
    allowed = get_args(literal)
    return lambda value: isinstance(value, str) and value in allowed


def _or_none(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


_CHECKS: Mapping[str, Callable[[object], bool]] = {
    "verdict": _one_of(Verdict),
    "provider": _is_text,
    "model": _is_text,
    "base_url": _is_text,
    "api": _one_of(Api),
    "format": _or_none(_one_of(FormatKind)),
    "routing": _is_text,
    "scope": lambda value: isinstance(value, str) and value in set(Scope),
    "flag": _or_none(_one_of(Flag)),
    "schema": _is_text,
    "strict": lambda value: value is None or isinstance(value, bool),
    "rule": _is_text,
    "feature": _is_text,
    "evidence": lambda value: isinstance(value, str) and len(value) <= MAX_EVIDENCE,
    "status": _or_none(_is_count),
    "first_seen": is_time,
    "confirmed": is_time,
    "saved": _is_count,
    "expires": _or_none(is_time),
    "version": lambda value: _is_count(value) and value == VERSION,
}


def is_entry(fields: Mapping[str, object]) -> bool:
    """Whether a stored object has exactly an entry's fields, each of its type, in this version."""
    return fields.keys() == _CHECKS.keys() and all(
        check(fields[name]) for name, check in _CHECKS.items()
    )
