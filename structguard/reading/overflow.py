"""
Numbers that overflow: 1e400 is JSON, and jiter reads it as an infinity, which is no value.

Hints come first, from the text and from a dump of the value; only behind them is the value looked
through. Which of them is worth its cost is guessed from the beginning of the text; a wrong guess costs
time and nothing else. Source: spec parse, step 2.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterable
from typing import Final, cast

_KINDS: Final = bytes(  # digits and + → 0, e and E → e, all else → a blank
    0x30 if code in b"0123456789+" else 0x65 if code in b"eE" else 0x20 for code in range(256)
)
# An overflow takes three digits of exponent, or 210 digits before it (10**(210 + 99) is too much).
_EXPONENT = re.compile(b"0e000").search  # a literal: several times faster than a class of digits
_LONG: Final = b"0" * 210
_PIECE: Final = 100_000  # bytes looked at in one go: fresh memory would cost more than the look
_INFINITIES: Final = (bytes(6) + b"\xf0\x7f", bytes(6) + b"\xf0\xff")  # as a dump holds them
_LOOKS: Final = 2000  # bytes 0xf0 looked at one by one: one byte is found far faster than eight
_SAMPLE: Final = 4096
_MANY: Final = _SAMPLE // 12  # quotes from which on strings are short: a dump costs more
_FEW: Final = _SAMPLE // 64  # quotes and commas up to which there is next to nothing but text


def overflows(raw: bytes, value: object) -> bool:
    """Whether a number of the text has become an infinity in the value read from it."""
    if len(raw) <= _SAMPLE:
        kinds = raw.translate(_KINDS)
        hinted = b"0e000" in kinds or (len(raw) > len(_LONG) and _LONG in kinds)
    elif (quotes := raw.count(b'"', 0, _SAMPLE)) >= _MANY:
        hinted = _hinted_by_text(raw) and _hinted_by_dump(value)
    else:
        few = quotes + raw.count(b",", 0, _SAMPLE) < _FEW
        hinted = few or _hinted_by_dump(value)
    return hinted and holds_infinity(value)


def _hinted_by_text(raw: bytes) -> bool:
    """Whether something in the text, a string perhaps, looks like a number that overflows."""
    for start in range(0, len(raw), _PIECE):
        kinds = raw[start : start + _PIECE + len(_LONG)].translate(_KINDS)
        if _EXPONENT(kinds) is not None or _LONG in kinds:
            return True
    return False


def _hinted_by_dump(value: object) -> bool:
    """Whether the eight bytes of an infinity stand in a dump of the value."""
    dumped = marshal.dumps(cast("dict[str, object]", value))
    at = dumped.find(b"\xf0")
    for _ in range(_LOOKS):
        if at < 0:
            return False
        if dumped[max(at - 6, 0) : at + 2] in _INFINITIES:
            return True
        at = dumped.find(b"\xf0", at + 1)
    return any(infinity in dumped for infinity in _INFINITIES)


def holds_infinity(value: object) -> bool:
    """Whether a float that is no JSON number is anywhere in the value."""
    waiting: list[Iterable[object]] = [(value,)]
    for members in waiting:  # it grows while it is read
        for member in members:
            if isinstance(member, float):
                if member - member != 0:
                    return True
            elif isinstance(member, dict):
                waiting.append(cast("dict[str, object]", member).values())
            elif isinstance(member, list):
                waiting.append(cast("list[object]", member))
    return False
