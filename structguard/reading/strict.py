"""
Strict JSON: one jiter parse, with the checks jiter leaves to us.

Exact integers up to 4,300 digits; no NaN, no infinity, not even by overflow; duplicate keys are a
warning and the last one wins; a byte order mark is skipped. Source: spec parse, step 2; RFC 8259.
"""

from __future__ import annotations

import marshal
import re
from typing import Final, cast

import jiter

from structguard.types import as_mapping, as_sequence

_INFINITY: Final = (b"\0\0\0\0\0\0\xf0\x7f", b"\0\0\0\0\0\0\xf0\xff")  # as marshal writes them
_BIG_NUMBER = re.compile(rb"[0-9.][eE]\+?[0-9]{3}|[0-9]{309}")
_SMALL = 20_000  # bytes; below it a regular expression is cheaper than a dump
DUPLICATE = "duplicate keys in an object: the last value of each was taken"


class NotStrict(ValueError):
    """The text is not strict JSON; the message is jiter's."""


def strict(text: str) -> tuple[object, list[str]]:
    """
    The value of a text that is one strict JSON value, and warnings about it.

    Raises:
        NotStrict: it is not; the message begins "EOF while parsing" when only the end is missing.
    """
    if text[:1] == "\ufeff":
        text = text[1:]
    try:
        raw = text.encode()
    except UnicodeEncodeError as error:
        raise NotStrict("a lone surrogate") from error
    warnings: list[str] = []
    try:
        value: object = jiter.from_json(raw, allow_inf_nan=False, catch_duplicate_keys=True)
    except ValueError as error:
        if not str(error).startswith("Detected duplicate key"):
            raise NotStrict(str(error)) from None
        value = _last_wins(raw)
        warnings.append(DUPLICATE)
    if _overflows(raw, value):
        raise NotStrict("a number is too large to be held")
    return value, warnings


def _last_wins(raw: bytes) -> object:
    try:
        return jiter.from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise NotStrict(str(error)) from None


def _overflows(raw: bytes, value: object) -> bool:
    """Whether a number such as 1e400 has become an infinity."""
    if len(raw) < _SMALL and _BIG_NUMBER.search(raw) is None:
        return False
    dumped = marshal.dumps(cast("dict[str, object]", value))
    return any(infinity in dumped for infinity in _INFINITY) and holds_infinity(value)


def holds_infinity(value: object) -> bool:
    """Whether a float that is no JSON number is anywhere in the value."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, float):
            if item - item != 0:
                return True
        else:
            waiting.extend(as_sequence(item) or (as_mapping(item) or {}).values())
    return False


def strict_json(text: str) -> bool:
    """Whether the text is one strict JSON value and nothing else: it can be handed on as it is."""
    try:
        strict(text)
    except NotStrict:
        return False
    return True
