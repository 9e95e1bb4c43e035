"""
A text of which only the end is missing: what stands there for certain.

A dangling key, half a literal, half an escape and half a number (`1.`, `2e`) always go. A string or
a number that the end cuts goes too unless `partial` is asked for. Source: spec parse, step 4.
"""

from __future__ import annotations

import re

import jiter

from structguard.reading.marks import MARK
from structguard.reading.strict import NotStrict, holds_infinity

_OUTSIDE = re.compile(r'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_NUMBER_AT_END = re.compile(r"[-+.0-9eE]+\Z")


def _ends_in_mark(text: str) -> bool:
    tail = text[-60:].rstrip()
    return any(mark.end() == len(tail) for mark in MARK.finditer(tail))


def cut_json(text: str, *, partial: bool) -> object:
    """
    The value of a strict JSON text whose end is missing.

    Raises:
        NotStrict: more than the end is missing, or nothing is left.
    """
    outside = _OUTSIDE.match(text)
    in_string = outside is not None and outside.end() < len(text)
    if not in_string and not partial and (number := _NUMBER_AT_END.search(text[-5000:])):
        text = text[: len(text) - len(number.group())]
    if in_string and _ends_in_mark(text):
        raise NotStrict("a special token ends the text")
    try:
        read: object = jiter.from_json(
            text.encode(),
            allow_inf_nan=False,
            partial_mode="trailing-strings" if partial else True,
        )
    except (ValueError, UnicodeEncodeError) as error:
        raise NotStrict(str(error)) from None
    if isinstance(read, str | int | float | None) or holds_infinity(read):
        raise NotStrict("nothing certain stands before the cut")
    return read
