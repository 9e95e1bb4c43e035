"""
Values without quotes: numbers and literals in every spelling, calls, and words taken as a string.

Source: spec parse, step 9.
"""

from __future__ import annotations

import re
from typing import Final

from structguard.reading.closing import lost_start
from structguard.reading.cursor import MISSING, Cursor, GiveUp
from structguard.reading.lookahead import (
    BARE_KEY,
    CLOSERS,
    COMMAS,
    LITERAL,
    NUMBER,
    OPENERS,
    QUOTED_KEY,
    SPACE,
    comment_end,
    skip,
)
from structguard.reading.marks import MARK
from structguard.reading.strict import NotStrict, strict
from structguard.reading.strings import read_rest

_WORDS: Final[dict[str, object]] = {
    "true": True, "false": False, "null": None, "none": None,
}  # fmt: skip
_NO_VALUE: Final = {"undefined", "nan", "infinity", "-infinity", "+infinity", "inf", "-inf"}
_ODD_NUMBER = re.compile(
    r"[-+]?(?:[0-9]+(?:_[0-9]+)*\.?(?:[0-9]+(?:_[0-9]+)*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z"
)
_HALF_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]*(?:[eE][-+]?)?\Z")
_CALL = re.compile(rf"(?:new\s)?[A-Za-z_][\w.]{{0,40}}\((?=[{SPACE}]{{0,40}}[\"'\d{{\[)-])")
_STOP = re.compile(r"[,\uff0c\u3001\u060c}\]{\[\uff5d\uff3d\uff5b\uff3b()\n\"'`/#<]")
_END_OF_NUMBER = re.compile(
    rf"[{SPACE}]{{0,200}}(?:[,\uff0c\u3001\u060c}}\])\uff5d\uff3d;]|//|/\*|#|\\[nrt]|\{{\s{{0,9}}[\"']|(?:\.{{3}}|\u2026)\s{{0,9}}[,\]}}]|(?:\u2190|<-|--)[^\n\"]{{0,200}}\n|\Z)|[ \t]{{0,40}}\n|\s{{1,40}}[\"'][^\"'\n]{{1,80}}[\"']\s{{0,10}}:"
)
_BLOCK = re.compile(r"[|>][-+]?[ \t]{0,9}\n")
_UNQUOTED = re.compile(r"(?:[^\"'\\]|\\.|'(?=\w))++\Z", re.DOTALL)  # no quote but escaped ones
_THOUSANDS = re.compile(r",[0-9]")
_MOST_DIGITS: Final = 4300


def read_bare(cursor: Cursor) -> object:
    """The unquoted value at the cursor; MISSING when nothing stands there or the cut takes it."""
    text, start = cursor.text, cursor.position
    number = NUMBER.match(text, start, cursor.end)
    if number and _ends_number(cursor, number.end()):
        return _number(cursor, number)
    literal = LITERAL.match(text, start, cursor.end)
    if literal and _ends_number(cursor, literal.end()):
        return _classify(cursor, start, literal.end())
    if lost_start(cursor, start):
        cursor.note("missing start quote", start)
        cursor.quoted += 1
        return read_rest(cursor)
    call = _CALL.match(text, start, cursor.end)
    if call:
        cursor.note("call", start)
        cursor.position = call.end()
        cursor.push(")", named=True)
        return MISSING
    if _BLOCK.match(text, start, cursor.end):
        raise GiveUp("a YAML block", start)
    end = _end_of_words(cursor, start)
    return _classify(cursor, start, end)


def _ends_number(cursor: Cursor, after: int) -> bool:
    """Whether a number ends here; in an object "1,234" is not one."""
    text, end = cursor.text, cursor.end
    if cursor.top.members is not None and _THOUSANDS.match(text, after, end):
        return False
    return _END_OF_NUMBER.match(text, after, end) is not None


def _number(cursor: Cursor, number: re.Match[str]) -> object:
    cursor.position = number.end()
    if number.end() == len(cursor.text):  # the cut may have taken digits
        cursor.cut = True
        if not cursor.partial:
            return MISSING
    cursor.quoted += 1
    return to_number(number.group(), number.start())


def to_number(digits: str, at: int) -> int | float:
    """
    The number of a JSON literal, exactly.

    Raises:
        GiveUp: it has more digits than Python converts, or overflows.
    """
    if not any(char in digits for char in ".eE"):
        if len(digits) > _MOST_DIGITS:
            raise GiveUp("a number is too long", at)
        return int(digits)
    value = float(digits)
    if value - value != 0:
        raise GiveUp("a number is too large to be held", at)
    return value


def _end_of_words(cursor: Cursor, start: int) -> int:
    """Where unquoted text ends: before a comma, bracket or line that structure follows."""
    text, end = cursor.text, cursor.end
    open_brackets = 0
    position = start
    while stop := _STOP.search(text, position, end):
        position = stop.start()
        char = text[position]
        if char in OPENERS:
            _refuse_object(cursor, position)
            open_brackets += 1
        elif char in CLOSERS:
            if not open_brackets:
                return position
            open_brackets -= 1
        elif (char == '"' and cursor.top.members is not None and _is_key(cursor, position)) or (
            not open_brackets and _ends_words(cursor, position)
        ):
            return position
        position += 1
    return end


def _is_key(cursor: Cursor, position: int) -> bool:
    return (
        cursor.text[position - 1].isspace()
        and QUOTED_KEY.match(cursor.text, position, cursor.end) is not None
    )


def _refuse_object(cursor: Cursor, position: int) -> None:
    """JSON inside of unquoted text is an answer of its own, not a word."""
    if re.compile(r"[{\[]\s{0,20}[\"'{\[]").match(cursor.text, position, cursor.end):
        raise GiveUp("unquoted text runs into another value", position)


def _ends_words(cursor: Cursor, position: int) -> bool:
    text, end = cursor.text, cursor.end
    char = text[position]
    if char in "/#":
        return (
            position > 0
            and text[position - 1].isspace()
            and comment_end(text, position, end) > position
        )
    if char in "<`":
        return text.startswith("```", position) or MARK.match(text, position, end) is not None
    if char not in COMMAS and char != "\n":
        return False
    return _structure_follows(cursor, position)


def _structure_follows(cursor: Cursor, position: int) -> bool:
    """Whether what follows this comma or line end is the next member or the container's end."""
    text, end, top = cursor.text, cursor.end, cursor.top
    char = text[position]
    after = skip(text, position + 1, end)
    if after >= end or text[after] in "}]" or text.startswith("```", after):
        return True
    if top.members is None:
        return True
    if QUOTED_KEY.match(text, after, end):
        return True
    return (top.bare or char != "\n") and BARE_KEY.match(text, after, end) is not None


def _classify(cursor: Cursor, start: int, end: int) -> object:
    """Unquoted text as what it spells: a literal, a number, or a string."""
    text = cursor.text
    word = text[start:end].strip().rstrip(";")
    cursor.position = end
    if not word:
        cursor.note("missing value", start)
        return MISSING
    at_cut = end == len(text)  # a literal is whole, unquoted text may go on
    lower = word.lower()
    if lower in _NO_VALUE:
        cursor.note("not a JSON value", start)
        return None
    if lower in _WORDS:
        cursor.quoted += 1
        if word not in ("true", "false", "null"):
            cursor.note("literal", start)
        return _WORDS[lower]
    if at_cut:
        return _cut_word(cursor, word, lower)
    return _odd_number(cursor, word, start)


def _cut_word(cursor: Cursor, word: str, lower: str) -> object:
    """Unquoted text that the end of the answer cuts."""
    cursor.cut = True
    half = any(known.startswith(lower) for known in (*_WORDS, *_NO_VALUE))
    if half or _HALF_NUMBER.match(word) or not cursor.partial:
        return MISSING
    cursor.bare += 1
    return word


def _decoded(word: str) -> object:
    """The content of a string that has lost its opening quote, its escapes decoded."""
    try:
        return strict('"' + word)[0]
    except NotStrict:
        return word[:-1]


def _odd_number(cursor: Cursor, word: str, start: int) -> object:
    """A number in a spelling JSON does not have (.25, 1., 1_234, +5), else the word itself."""
    if word[-1] in "\"'" and len(word) > 1 and _UNQUOTED.match(word[:-1]):
        cursor.note("missing start quote", start)
        cursor.quoted += 1
        if word[-1] == '"' and "\\" in word:
            return _decoded(word)
        word = word[:-1]
        if NUMBER.fullmatch(word):
            return to_number(word, start)
        return word
    if _ODD_NUMBER.match(word) and any(char.isdigit() for char in word):
        plain = word.replace("_", "").lstrip("+").removesuffix(".")
        digits = plain.lstrip("-").split(".")[0]
        if digits in {"", "0"} or not digits.startswith("0"):
            cursor.note("number spelling", start)
            cursor.quoted += 1
            return to_number(plain, start)
    if '\\"' in word:
        raise GiveUp("escaped quotes in words without quotes", start)
    if cursor.top.key is not None and word == cursor.top.key:
        raise GiveUp("a variable of the key's name", start)
    cursor.note("missing quotes", start)
    cursor.bare += 1
    return word
