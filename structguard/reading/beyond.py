"""
Brackets behind a quote: do they close what is open, or are they text like the quotes around them?

Source: spec parse, step 9.
"""

from __future__ import annotations

import re

from structguard.reading.lookahead import COMMAS, QUOTED_KEY, closer_run, skip
from structguard.reading.marks import MARK
from structguard.reading.string_state import Text

_LATER_END = re.compile(
    r"[\"'][^\n]{0,200}?\"\s{0,9}(?:,\s{0,40}\"[^\"\n]{1,80}\"\s{0,10}:|[}\]\s]{1,40}\Z)"
)
_OVER = re.compile(r"[ \t]{0,9};?[ \t]{0,9}(?:\n|" + MARK.pattern + ")")


def before_wrong_closers(string: Text, after: int) -> bool:
    """
    `{"a": "x"]`: the bracket closes nothing, but then the text ends or the next member comes.

    Where there were no quotes inside, another line or a mark behind as many brackets is enough. A
    round bracket may be the text's own, unless the string has opened none.
    """
    cursor, inner = string.cursor, string.inner
    text, end = cursor.text, cursor.end
    closers, position = closer_run(text, after, end)
    if not 0 < len(closers) <= len(cursor.stack) or cursor.holds(closers[0]):
        return False
    if ")" in closers and (inner or any("(" in part for part in string.parts)):
        return False
    ended = position
    position = skip(text, position, end)
    if position >= end or text.startswith("```", position):
        return True
    if not inner and len(closers) == len(cursor.stack) and _OVER.match(text, ended, end):
        return True
    position = skip(text, position + 1, end) if text[position] in COMMAS else end
    return QUOTED_KEY.match(text, position, end) is not None


def runs_on(text: str, start: int, quote: int, end: int) -> bool:
    """
    Whether a quote right behind brackets shows that they are text: `"use "}" to close", "n": 1`.

    Not if the value from `start` stands in quotes or a key follows; and a later quote must have
    structure behind it.
    """
    return (
        text[quote : quote + 1] in ('"', "'")
        and text[max(0, start - 1) : start] != text[quote]
        and QUOTED_KEY.match(text, quote, end) is None
        and _LATER_END.match(text, quote, end) is not None
    )
