"""
Keys: quoted, unquoted, with a quote too many or too few, with a colon that is lost.

Source: spec parse, step 9.
"""

from __future__ import annotations

import re

from structguard.reading.closers import close_all
from structguard.reading.closing import lost_colon
from structguard.reading.cursor import MISSING, Cursor, GiveUp
from structguard.reading.lookahead import (
    COLONS,
    ENDLESS_KEY,
    JUNK_BEFORE_KEY,
    LOOSE_KEY,
    QUOTED_KEY,
    QUOTES,
    skip,
)
from structguard.reading.strings import read_string

_STRAY = re.compile(r"\"{2,10}\s{1,9}(?=[\"'])|\"(?=\"\w)")
_EQUALS = re.compile(r"=>?")
_SECOND_COLON = re.compile(r"[:=](?=\s{0,9}[\"'{\[\d-])")
_NO_KEY = re.compile(r"[{}\[\]\n]|\",")
_DANGLING = re.compile(r"[^\n:{}\[\]\"]{0,80}\Z")


def quoted_key(cursor: Cursor) -> None:
    """A key in quotes, and its colon."""
    _pass_stray_quotes(cursor)
    text, position, end = cursor.text, cursor.position, cursor.end
    if not QUOTED_KEY.match(text, position, end):
        endless = ENDLESS_KEY.match(text, position, end)
        if endless is not None and text[endless.end()] not in QUOTES:
            cursor.note("missing end quote", endless.end("a"))
            cursor.quoted += 1
            cursor.begin_member(endless.group("a").rstrip())
            cursor.position = endless.end()
            return
    key = read_string(cursor, is_key=True)
    if key is MISSING:
        close_all(cursor, "end of text")
        return
    if '"' in str(key) and _NO_KEY.search(str(key)):
        raise GiveUp("a key that runs into other members", position)
    cursor.quoted += 1
    _colon(cursor, str(key))


def _pass_stray_quotes(cursor: Cursor) -> None:
    """Quotes too many before a key: one at its own, or some of them apart from it."""
    text, position, end = cursor.text, cursor.position, cursor.end
    stray = _STRAY.match(text, position, end)
    if stray is not None and QUOTED_KEY.match(text, stray.end(), end):
        cursor.note("stray quotes", position)
        cursor.position = stray.end()


def _colon(cursor: Cursor, key: str) -> None:
    position = skip(cursor.text, cursor.position, cursor.end)
    if position >= cursor.end:
        cursor.position = position
        cursor.cut = True
        close_all(cursor, "end of text")
        return
    cursor.begin_member(key)
    if cursor.text[position] in COLONS:
        cursor.position = position + 1
        if _SECOND_COLON.match(cursor.text, position + 1, cursor.end):
            cursor.note("doubled colon", position + 1)
            cursor.position += 1
    elif lost_colon(cursor.text, position, cursor.end):
        cursor.note("missing colon", position)
        equals = _EQUALS.match(cursor.text, position, cursor.end)
        cursor.position = equals.end() if equals else position
    else:
        raise GiveUp("a key without a colon", position)


def bare_key(cursor: Cursor) -> None:
    """A key without quotes, words before a key, or the end of the text."""
    text, position = cursor.text, cursor.position
    key = LOOSE_KEY.match(text, position, cursor.end)
    junk = JUNK_BEFORE_KEY.match(text, position, cursor.end) if key is None else None
    if junk is not None:
        cursor.note("words left out", position)
        cursor.position = junk.end()
        return
    if key is None:
        rest = _DANGLING.match(text, position, cursor.end)
        if rest and rest.end() == len(text) and (cursor.top.members or len(cursor.stack) > 1):
            cursor.cut = True
            cursor.position = cursor.end
            close_all(cursor, "end of text")
            return
        raise GiveUp("neither a key nor the end of the object", position)
    name = key.group("a").rstrip()
    if "\\" in name:
        raise GiveUp("a key with a backslash", position)
    cursor.note("unquoted key", position)
    cursor.top.bare = True
    cursor.position = key.end()
    cursor.begin_member(name)
