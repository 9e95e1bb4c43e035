"""
Between values: commas that are lost or stray, joined strings, words that do not belong there.

Source: spec parse, step 9.
"""

from __future__ import annotations

import re

from structguard.reading.closers import close, close_all
from structguard.reading.cursor import Cursor, GiveUp
from structguard.reading.lookahead import (
    CLOSERS,
    ELLIPSIS,
    LOOSE_KEY,
    OPENERS,
    QUOTED_KEY,
    QUOTES,
    SCALAR_ITEM,
    blank_before,
    skip,
)
from structguard.reading.strings import read_string

_JUNK = re.compile(r"[\w(][^\n,\[\]{}:\"]{0,60}(?=[\]}])")


def trailing(cursor: Cursor) -> None:
    position = skip(cursor.text, cursor.position, cursor.end)
    if position < cursor.end and cursor.text[position] in CLOSERS:
        cursor.note("trailing comma", cursor.position - 1)


def join(cursor: Cursor) -> bool:
    """`"one " + "two"`: one string in two parts."""
    position = skip(cursor.text, cursor.position + 1, cursor.end)
    first = cursor.top.last
    if not isinstance(first, str) or cursor.text[position : position + 1] not in ('"', "'"):
        return False
    cursor.note("joined strings", cursor.position)
    cursor.position = position
    second = read_string(cursor, is_key=False)
    if isinstance(second, str):
        cursor.top.last = first + second
    else:
        cursor.top.drop_last()  # the cut takes all of it
    return True


def after_in_array(cursor: Cursor) -> None:
    text, position = cursor.text, cursor.position
    if ELLIPSIS.match(text, position, cursor.end):
        cursor.expects_separator = False
        return
    if text[position] in QUOTES or text[position] in OPENERS or _unquoted_item(cursor):
        cursor.note("missing comma", position)
        cursor.expects_separator = False
        return
    _stop_at_prose(cursor)


def _unquoted_item(cursor: Cursor) -> bool:
    """A number or literal behind a value; on the next line, a word behind an unquoted one."""
    text, position = cursor.text, cursor.position
    if SCALAR_ITEM.match(text, position, cursor.end):
        return True
    return cursor.last_bare and blank_before(cursor.text, cursor.position).count("\n") == 1


def after_in_object(cursor: Cursor) -> None:
    text, position = cursor.text, cursor.position
    if QUOTED_KEY.match(text, position, cursor.end) or _bare_key_on_its_line(cursor):
        cursor.note("missing comma", position)
        cursor.expects_separator = False
        return
    if ELLIPSIS.match(text, position, cursor.end):
        cursor.expects_separator = False
        return
    if text[position] == "{" and len(cursor.stack) > 1 and cursor.stack[-2].members is None:
        cursor.note("missing closer", position)
        close(cursor)
        return
    _stop_at_prose(cursor)


def _bare_key_on_its_line(cursor: Cursor) -> bool:
    """Whether an unquoted key follows, and no sentence such as "Note: …" behind a lost closer."""
    key = LOOSE_KEY.match(cursor.text, cursor.position, cursor.end)
    if key is None or cursor.top.bare:
        return key is not None
    blank = blank_before(cursor.text, cursor.position)
    name = key.group("a")
    return blank.count("\n") == 1 and (
        name in cursor.known or (not cursor.known and name.isidentifier())
    )


def _stop_at_prose(cursor: Cursor) -> None:
    """Text after a value: on a new line the value has ended without its closers, else give up."""
    if "\n" in blank_before(cursor.text, cursor.position):
        close_all(cursor, "missing closer")
        return
    junk = _JUNK.match(cursor.text, cursor.position, cursor.end)
    if junk is None or not isinstance(cursor.top.last, str):
        raise GiveUp("text after a value", cursor.position)
    cursor.note("words left out", cursor.position)
    cursor.position = junk.end()
