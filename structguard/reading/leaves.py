"""
The leaves of strict JSON that comes in pieces: one escape, one number or literal.

Source: spec parse, "Streams"; RFC 8259, sections 6 and 7.
"""

from __future__ import annotations

import re
from typing import Final

from structguard.reading.lookahead import NUMBER

_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
                   "/": "/", "\\": "\\", '"': '"'}  # fmt: skip
_UNIT = re.compile(r"\\u([0-9a-fA-F]{4})")
_LITERALS: Final[dict[str, object]] = {"true": True, "false": False, "null": None}


class Stop(Exception):
    """Strict JSON has nothing like this: no more is shown."""


def escape(text: str, position: int) -> tuple[str, int] | None:
    """
    What the escape at a backslash stands for and where it ends; None while it may not be whole.

    Raises:
        Stop: JSON has no such escape, or half of a surrogate pair stands alone.
    """
    rest = text[position : position + 12]
    if len(rest) < 2 or (rest[1] == "u" and len(rest) < 6):
        return None
    if rest[1] != "u":
        if rest[1] not in _ESCAPES:
            raise Stop
        return _ESCAPES[rest[1]], position + 2
    unit = _UNIT.match(rest)
    if unit is None:
        raise Stop
    number = int(unit.group(1), 16)
    if not 0xD800 <= number <= 0xDFFF:
        return chr(number), position + 6
    return _pair(rest[6:], position, number)


def _pair(rest: str, position: int, high: int) -> tuple[str, int] | None:
    if len(rest) < 6 and "\\u"[: len(rest)] == rest[:2]:
        return None
    low = _UNIT.match(rest)
    number = int(low.group(1), 16) if low else 0
    if high >= 0xDC00 or not 0xDC00 <= number <= 0xDFFF:
        raise Stop
    return chr(0x10000 + ((high - 0xD800) << 10) + number - 0xDC00), position + 12


def scalar(word: str) -> object:
    """
    The number or literal that a whole word spells.

    Raises:
        Stop: it is neither, too long, or overflows.
    """
    if word in _LITERALS:
        return _LITERALS[word]
    if NUMBER.fullmatch(word) is None or len(word) > 4300:
        raise Stop
    if not any(char in word for char in ".eE"):
        return int(word)
    value = float(word)
    if value - value != 0:
        raise Stop
    return value
