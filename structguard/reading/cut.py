"""
A text of which only the end is missing: what stands there for certain.

A dangling key, half a literal, half an escape and half a number (`1.`, `2e`) always go. A string or
a number that the end cuts goes too unless `partial` is asked for. Source: spec parse, step 4.
"""

from __future__ import annotations

from typing import Final

from structguard.reading.marks import MARK
from structguard.reading.overflow import overflows
from structguard.reading.strict import NotStrict, load

_NUMBER: Final = "-+.0123456789eE"


def _ends_in_mark(text: str) -> bool:
    tail = text[-60:].rstrip()
    return any(mark.end() == len(tail) for mark in MARK.finditer(tail))


def cut_json(text: str, fault: str, *, partial: bool) -> object:
    """
    The value of a strict JSON text whose end is missing; `fault` is what the strict read said.

    Raises:
        NotStrict: more than the end is missing, or nothing is left.
    """
    in_string = fault.startswith("EOF while parsing a string")
    if not in_string and not partial:
        text = text.rstrip(_NUMBER)
    if in_string and _ends_in_mark(text):
        raise NotStrict("a special token ends the text")
    raw = text.encode()  # what the strict read could encode
    read = load(raw, partial_mode="trailing-strings" if partial else True)
    if overflows(raw, read):
        raise NotStrict("a number is too large to be held")
    return read
