"""
Strict JSON: one jiter parse, with the checks jiter leaves to us.

Exact integers up to 4,300 digits; no NaN, no infinity, not even by overflow; duplicate keys are a
warning and the last one wins; a byte order mark is skipped. Source: spec parse, step 2; RFC 8259.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import Final, Literal, overload

import jiter

from structguard.reading.latex import latex_warning
from structguard.reading.overflow import overflows

_LARGE: Final = 65_536  # bytes from which on duplicate keys are looked for when somebody asks
_OVERFLOW: Final = "a number is too large to be held"
DUPLICATE = "duplicate keys in an object: the last value of each was taken"


class NotStrict(ValueError):
    """The text is not strict JSON; the message is jiter's."""


def strict(text: str) -> tuple[object, Sequence[str]]:
    """
    The value of a text that is one strict JSON value, and warnings about it.

    Raises:
        NotStrict: it is not; the message begins "EOF while parsing" when only the end is missing.
    """
    return strict_bytes(text, encoded(text))


def encoded(text: str) -> bytes | None:
    """The text in UTF-8; None when a lone surrogate forbids it."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def strict_bytes(text: str, raw: bytes | None) -> tuple[object, Sequence[str]]:
    """As `strict`, for a text that is `encoded` already."""
    if raw is None:
        raise NotStrict("a lone surrogate")
    large = len(raw) > _LARGE
    try:
        value: object = jiter.from_json(raw, allow_inf_nan=False, catch_duplicate_keys=not large)
    except ValueError as error:
        return _once_more(text, raw, str(error))
    if overflows(raw, value):
        raise NotStrict(_OVERFLOW)
    return value, Late(text) if large else ()


def _once_more(text: str, raw: bytes, fault: str) -> tuple[object, Sequence[str]]:
    """What jiter refuses and JSON allows: a byte order mark, duplicate keys."""
    if raw.startswith(codecs.BOM_UTF8):
        return strict_bytes(text[1:], raw[3:])
    if not fault.startswith("Detected duplicate key"):
        raise NotStrict(fault)
    value = load(raw)
    if overflows(raw, value):
        raise NotStrict(_OVERFLOW)
    return value, (DUPLICATE,)


def load(
    raw: bytes,
    *,
    partial_mode: Literal[True, False, "trailing-strings"] = False,
) -> object:
    """What jiter reads, without its checks; NotStrict with its words for what it does not read."""
    try:
        return jiter.from_json(raw, allow_inf_nan=False, partial_mode=partial_mode)
    except ValueError as error:
        raise NotStrict(str(error)) from None


def fault_of(text: str) -> str:
    """Why a text is not strict JSON, in jiter's words; "" for one that is."""
    try:
        strict(text)
    except NotStrict as error:
        return str(error)
    return ""


class Late(Sequence[str]):
    """
    The warnings about a large text, found when they are first read.

    Looking for duplicate keys costs half as much again as reading the text does.
    """

    def __init__(self, text: str) -> None:
        self._text: str | None = text
        self._found: tuple[str, ...] = ()

    def _look(self) -> tuple[str, ...]:
        if self._text is not None:
            said = latex_warning(self._text)
            self._found = (said,) if said else ()
            try:
                jiter.from_json(self._text.encode(), catch_duplicate_keys=True)
            except ValueError:
                self._found = (DUPLICATE, *self._found)
            self._text = None
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


def strict_json(text: str) -> bool:
    """Whether the text is one strict JSON value and nothing else: it can be handed on as it is."""
    return not fault_of(text)
