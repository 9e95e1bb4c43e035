"""
The repairing reader: one value from text that is nearly JSON, with every repair noted.

A tokenizer with an explicit stack and bounded look-ahead: linear, no recursion, nothing invented.
It reads as far as the value goes and says where it ended. Source: spec parse, step 9.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from structguard.reading.bare import read_bare
from structguard.reading.brackets import Brackets
from structguard.reading.closers import close_all, closers, finish_value
from structguard.reading.cursor import MISSING, Cursor, GiveUp
from structguard.reading.keys import bare_key, quoted_key
from structguard.reading.lookahead import (
    CLOSERS,
    COLONS,
    COMMAS,
    ELLIPSIS,
    OPENERS,
    PREFIX,
    QUOTES,
    skip,
)
from structguard.reading.marks import MARK
from structguard.reading.openers import bracket_for_key, lost_opener, string_was_key
from structguard.reading.separators import after_in_array, after_in_object, join, trailing
from structguard.reading.strings import read_string
from structguard.reading.values import Repair

_LOOK = 8  # what judging a quote costs, in characters of plain text


@dataclass(frozen=True, slots=True)
class Repaired:
    """What the repairing reader found: the value, where it ended, and how sure it may be."""

    value: object
    end: int
    notes: list[Repair]
    complete: bool
    guessed: bool  # nothing in it was quoted: mere prose may look like this
    cost: int  # characters that were read beside it


def repair(
    text: str,
    start: int,
    end: int,
    *,
    brackets: Brackets | None = None,
    known: frozenset[str] = frozenset(),
    partial: bool = False,
) -> Repaired:
    """
    The value that begins with the bracket at `start` and ends before `end`.

    `known` are property names of the schema; they settle whether a quote opens the next key.
    `brackets` are those of the text, where it is read more than once.

    Raises:
        GiveUp: what stands there is not nearly JSON.
    """
    cursor = Cursor(text, start, end, brackets or Brackets(text), known, partial)
    _open(cursor)
    root = cursor.top
    try:
        while cursor.stack:
            _STEPS[_state(cursor)](cursor)
    except GiveUp as error:
        error.cost = max(error.at, cursor.position) - start + _LOOK * cursor.looks
        error.cost += cursor.overshot
        error.structured = cursor.quoted > 0 and any(
            frame.members or frame.items or frame.key is not None for frame in cursor.stack
        )
        raise
    return Repaired(
        root.value,
        cursor.position,
        cursor.notes,
        not cursor.cut,
        cursor.bare > 0 and cursor.quoted == 0,
        cursor.overshot,
    )


def _state(cursor: Cursor) -> str:
    top = cursor.top
    if cursor.expects_separator:
        return "after"
    if top.members is None or top.key is not None:
        return "value"
    return "key"


def _open(cursor: Cursor) -> None:
    char = cursor.text[cursor.position]
    if char not in "{[":
        cursor.note("brackets", cursor.position)
    cursor.push(OPENERS[char], called=char == "(")
    cursor.position += 1
    cursor.expects_separator = False


def _at_end(cursor: Cursor) -> bool:
    """At the end of the text, a fence or a special token: whatever is open is closed."""
    cursor.position = skip(cursor.text, cursor.position, cursor.end)
    position, text = cursor.position, cursor.text
    if position >= cursor.end:
        cursor.cut = cursor.cut or cursor.end == len(text)
        close_all(cursor, "end of text" if cursor.cut else "missing closer")
        return True
    if text[position] in "`<[" and (
        text.startswith("```", position)
        or MARK.match(text, position, cursor.end)
        or (text[position] == "`" == text[max(0, cursor.stack[0].start - 1)])
    ):
        close_all(cursor, "missing closer")
        return True
    return False


def _key(cursor: Cursor) -> None:
    """Expect a key or the end of the object."""
    if _at_end(cursor):
        return
    text, position = cursor.text, cursor.position
    char = text[position]
    if char in CLOSERS:
        closers(cursor)
    elif char in COMMAS:
        cursor.note("stray comma", position)
        cursor.position += 1
    elif ellipsis := ELLIPSIS.match(text, position, cursor.end):
        cursor.note("ellipsis", position)
        cursor.position = ellipsis.end()
    elif char in "{[":
        bracket_for_key(cursor)
    elif char in QUOTES or _prefixed(cursor):
        quoted_key(cursor)
    else:
        bare_key(cursor)


def _value(cursor: Cursor) -> None:
    """Expect a value (or, in an array, its end)."""
    if _at_end(cursor):
        return
    text, position = cursor.text, cursor.position
    char = text[position]
    if char in OPENERS:
        _open(cursor)
    elif lost_opener(cursor):
        pass
    elif (
        char in QUOTES
        or (char == "\\" and text[position + 1 : position + 2] == '"')
        or _prefixed(cursor)
    ):
        _quoted_value(cursor)
    elif char in CLOSERS:
        _missing_value(cursor)
        closers(cursor)
    elif char in COMMAS:
        _missing_value(cursor)
        cursor.note("stray comma", position)
        cursor.position += 1
        cursor.expects_separator = False
    elif ellipsis := ELLIPSIS.match(text, position, cursor.end):
        cursor.note("ellipsis", position)
        cursor.position = ellipsis.end()
        finish_value(cursor, MISSING)
    else:
        _bare_value(cursor)


def _prefixed(cursor: Cursor) -> bool:
    """Whether a string has a prefix as in Python, which is passed: `u'text'`."""
    prefix = PREFIX.match(cursor.text, cursor.position, cursor.end)
    if prefix is None:
        return False
    cursor.note("string prefix", cursor.position)
    cursor.raw = "r" in prefix.group().lower()
    cursor.position = prefix.end()
    return True


def _missing_value(cursor: Cursor) -> None:
    if cursor.top.key is not None:
        cursor.note("missing value", cursor.position)
        cursor.top.put(MISSING)


def _quoted_value(cursor: Cursor) -> None:
    value = read_string(cursor, is_key=False)
    cursor.quoted += 1
    cursor.last_bare = False
    finish_value(cursor, value)


def _bare_value(cursor: Cursor) -> None:
    depth = len(cursor.stack)
    words = cursor.bare
    value = read_bare(cursor)
    cursor.last_bare = cursor.bare > words
    if len(cursor.stack) > depth:  # a call was opened
        cursor.expects_separator = False
        return
    finish_value(cursor, value)


def _after(cursor: Cursor) -> None:
    """Expect a comma or a closer after a value."""
    if _at_end(cursor):
        return
    text, position, top = cursor.text, cursor.position, cursor.top
    char = text[position]
    if char in COMMAS or char == ";":
        if char != ",":
            cursor.note("comma", position)
        top.called = False  # (1, 2) is a list, (1) only a value in brackets
        cursor.position += 1
        cursor.expects_separator = False
        trailing(cursor)
    elif char in CLOSERS:
        closers(cursor)
    elif char == "\\":
        cursor.note("stray backslash", position)
        cursor.position += 1
    elif (char == "+" and join(cursor)) or (
        char in COLONS and top.members is None and string_was_key(cursor)
    ):
        pass
    elif top.members is None:
        after_in_array(cursor)
    else:
        after_in_object(cursor)


_STEPS: Mapping[str, Callable[[Cursor], None]] = {"key": _key, "value": _value, "after": _after}
