"""
Strict JSON: one jiter parse, with the checks jiter leaves to us.

Exact integers up to 4,300 digits; no NaN, no infinity, not even by overflow; duplicate keys are a
warning and the last one wins; a byte order mark is skipped. Source: spec parse, step 2; RFC 8259.
"""

from __future__ import annotations

import marshal
from collections.abc import Sequence
from typing import Final, cast, overload

import jiter

from structguard.reading.latex import latex_warning
from structguard.types import as_mapping, as_sequence

_INFINITY: Final = (b"\x7f", b"\xff")  # what follows 0xf0 at the end of an infinity's eight bytes
_LOOKS: Final = 2000  # bytes 0xf0 looked at one by one
_KINDS: Final = bytes(  # digits → 0, e and E → e, all else → a blank
    0x30 if 0x30 <= code <= 0x39 else 0x65 if code in b"eE" else 0x20 for code in range(256)
)
_LONG: Final = b"0" * 309  # so many digits overflow without an exponent
_SMALL: Final = 4096  # bytes; above it a dump of the value costs less than a look at the text
_LARGE: Final = 65_536  # bytes from which on duplicate keys are looked for when somebody asks
DUPLICATE = "duplicate keys in an object: the last value of each was taken"


class NotStrict(ValueError):
    """The text is not strict JSON; the message is jiter's."""


def strict(text: str) -> tuple[object, Sequence[str]]:
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
    large = len(raw) > _LARGE
    try:
        value: object = jiter.from_json(raw, allow_inf_nan=False, catch_duplicate_keys=not large)
        warnings: Sequence[str] = Late(raw) if large else ()
    except ValueError as error:
        if not str(error).startswith("Detected duplicate key"):
            raise NotStrict(str(error)) from None
        value = _last_wins(raw)
        warnings = (DUPLICATE,)
    if overflows(raw, value):
        raise NotStrict("a number is too large to be held")
    return value, warnings


def _last_wins(raw: bytes) -> object:
    try:
        return jiter.from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise NotStrict(str(error)) from None


class Late(Sequence[str]):
    """
    The warnings about a large text, found when they are first read.

    Looking for duplicate keys costs half as much again as reading the text does.
    """

    def __init__(self, raw: bytes) -> None:
        self._raw: bytes | None = raw
        self._found: tuple[str, ...] = ()

    def _look(self) -> tuple[str, ...]:
        if self._raw is not None:
            said = latex_warning(self._raw.decode())
            self._found = (said,) if said else ()
            try:
                jiter.from_json(self._raw, catch_duplicate_keys=True)
            except ValueError:
                self._found = (DUPLICATE, *self._found)
            self._raw = None
        return self._found

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self._look()[index]

    def __len__(self) -> int:
        return len(self._look())

    def __eq__(self, other: object) -> bool:
        return self._look() == other

    def __hash__(self) -> int:
        return hash(self._look())

    def __repr__(self) -> str:
        return repr(self._look())


def overflows(raw: bytes, value: object) -> bool:
    """Whether a number such as 1e400 has become an infinity."""
    if len(raw) < _SMALL:
        kinds = raw.translate(_KINDS)
        if b"0e" not in kinds and (len(raw) < 309 or _LONG not in kinds):
            return False
    dumped = marshal.dumps(cast("dict[str, object]", value))
    return _may_hold_infinity(dumped) and holds_infinity(value)


def _may_hold_infinity(dumped: bytes) -> bool:
    """Whether the last two bytes of an infinity stand in a dump; one byte is found far faster."""
    at = dumped.find(b"\xf0")
    for _ in range(_LOOKS):
        if at < 0:
            return False
        if dumped[at + 1 : at + 2] in _INFINITY:
            return True
        at = dumped.find(b"\xf0", at + 1)
    return b"\xf0\x7f" in dumped or b"\xf0\xff" in dumped


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
