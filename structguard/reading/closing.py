"""
Does this quote close its string? Only if structure follows it.

After a comma, in an object a key with its colon must follow, in an array a value; a bracket must
close something that is open. What a quote inside prose is followed by does not look like that.
Source: spec parse, step 9.
"""

from __future__ import annotations

import re
from typing import Final

from structguard.reading.beyond import runs_on
from structguard.reading.cursor import Cursor
from structguard.reading.lookahead import (
    BARE_KEY,
    CLOSERS,
    COLONS,
    COMMAS,
    ELLIPSIS,
    ENDLESS_KEY,
    ITEM_REST,
    JUNK_BEFORE_KEY,
    LINE_REST,
    LITERAL,
    LOOSE_KEY,
    MEMBER_REST,
    NUMBER,
    NUMBER_KEY,
    ODD_KEY,
    PREFIX,
    QUOTED_KEY,
    QUOTES,
    SCALAR_ITEM,
    blank,
    blank_before,
    closer_run,
    skip,
)
from structguard.reading.marks import MARK

_ELLIPSIS_ENDS = re.compile(r"(?:\.{3,9}|\u2026)\s{0,40}[,\]}\"']")
# What must follow a quote and one of these characters for the quote to close.
_SURE: Final = {
    ".": _ELLIPSIS_ENDS,
    "\u2026": _ELLIPSIS_ENDS,
    "+": re.compile(r"\+\s{0,80}[\"']"),
    "\\": re.compile(r"\\[,\]}]"),
}
# Words between a closing quote and the bracket: "12" USD}. By whether the quote was a single one.
_JUNK = {
    single: re.compile(rf"[\w(][^{quote}\n,\[\]{{}}:]{{0,60}}[\]}}]\s{{0,80}}(?:[,\]}}]|\Z)")
    for single, quote in ((False, '"'), (True, "'"))
}
_MEMBER_VALUE = re.compile(
    r"=>?\s{0,40}(?:[\"'{\[\u201c\-0-9]|(?:true|false|null|None|True|False)\b)|(?:(?:\"(?:[^\"\\\n]|\\.){0,400}+\"|'[^'\n:]{0,80}'|\u201c[^\u201d\n:]{0,80}\u201d"
    r"|-?[0-9][0-9.eE+-]{0,30}|true|false|null)\s{0,40}[,}\n]"
    r"|[{\[]\s{0,40}(?:[\"'{\[\]}0-9-]|true|false|null))"
)
_ENDS_QUOTED = re.compile(r"\"\s{0,9},?\s{0,40}\Z")  # a comment that ends a string is its text
# A pair in a sentence: "c": "d", or more words behind it.
_PAIR_IN_TEXT = re.compile(
    r"\"(?P<a>[^\"\n]{1,80})\"\s{0,9}:\s{0,9}\"[^\"\n]{0,120}\"(?:[ ]{0,9},\s{0,9}|[ ]{1,9})\w"
)
# Quoted words that a sentence goes on behind: "B", and "C"
_WORDS_IN_TEXT = re.compile(
    r"\"[^\"\n]{1,60}\",[ ](?!(?:true|false|null|None|True|False)\b)[^\W\d_]"
)
_BARE_ITEM = re.compile(r"[^\W\d][\w .-]{0,40}(?:,\s{0,40}[\"'`]|\s{0,40}\])")
_HALF_KEY = re.compile(r"[\w$ -]{1,64}")  # a key without quotes that the end of the text cuts
_KEY_ALONE = re.compile(r"(?P<q>[\"'])(?P<a>[^\"'\n:,{}\[\]\\]{1,80})(?P=q)\s{0,10}")
_ARRAY_VALUE = re.compile(rf"\\(?=\")|[\"'\u201c\u201e{{\[\]}}\-.0-9]|{PREFIX.pattern}")


def closes_key(cursor: Cursor, after: int) -> bool:
    """Whether a quote before `after` ends a key: a colon follows, or the text ends."""
    text, end = cursor.text, cursor.end
    position = skip(text, after, end)
    return position >= end or text[position] in COLONS or lost_colon(text, position, end)


def lost_colon(text: str, position: int, end: int) -> bool:
    """Whether a value or an equals sign stands where a colon belongs: `{"a" 1}`, `{"a" => 1}`."""
    return _MEMBER_VALUE.match(text, position, end) is not None


def closes_value(cursor: Cursor, after: int, *, nested: int, inner: bool = False) -> bool:
    """
    Whether a quote before `after` ends a value.

    `nested` counts brackets that JSON inside the string has opened: its quotes are content. `inner`
    says that there were quotes inside: then a lost comma or a lost bracket is not assumed.
    """
    text, end = cursor.text, cursor.end
    position = blank(text, after, end)
    if position < end and text[position] in "/#\\;<-\u2190":
        settled = _at_mark(cursor, after, position, inner=inner)
        if settled is not None:
            return settled
        position = skip(text, position, end)
    if position >= end:
        return True
    char = text[position]
    if char in COMMAS or char == ";":
        return not nested and _after_comma(cursor, position + 1, after, inner=inner)
    if char in CLOSERS:
        return _at_closer(cursor, position, nested=nested)
    if nested:
        return False
    return _at_other(cursor, after, position, inner=inner)


def _at_mark(cursor: Cursor, after: int, position: int, *, inner: bool) -> bool | None:
    """
    A semicolon or a comment behind a quote: what it tells, None when it is to be passed over.

    Behind quotes inside the string both may be its text: x = "a"; // "b".
    """
    text, end = cursor.text, cursor.end
    if text[position] == "#" and position == after:
        return False  # a comment stands apart from what it is about
    if text[position] == ";":
        if text.startswith(";\n", position) and _last_quote(cursor, after):
            return True
        following = QUOTED_KEY.match(text, blank(text, position + 1, end), end)
        return False if inner and following is None else None
    commented = skip(text, position, end)
    ends_quoted = _ENDS_QUOTED.search(text, max(position, commented - 200), commented)
    return False if inner and ends_quoted is not None else None


def _at_other(cursor: Cursor, after: int, position: int, *, inner: bool) -> bool:
    """A quote is followed by neither comma nor bracket: is a comma missing, or is it a mark?"""
    text, end, top = cursor.text, cursor.end, cursor.top
    char = text[position]
    if (pattern := _SURE.get(char)) is not None:
        sure = pattern.match(text, position, end)
        return sure is not None and not (inner and sure.group()[-1] in "\"'")
    if char in "`<[" and (text.startswith("```", position) or MARK.match(text, position, end)):
        return True
    if char == "`" and text[max(0, cursor.stack[0].start - 1)] == "`":
        return not inner or _last_quote(cursor, after)
    if char in COLONS:
        return top.members is None and not inner and top.closer == "]"
    if "\n" in text[after:position]:
        return _last_quote(cursor, after) or _comma_missing(cursor, after, position, inner=inner)
    return (position > after and not inner) and (
        _comma_missing(cursor, after, position, inner=inner)
        or _JUNK[text[after - 1] == "'"].match(text, position, end) is not None
    )


def _last_quote(cursor: Cursor, after: int) -> bool:
    """Whether no quote of this kind follows: then prose does, behind a container left open."""
    return cursor.text.find(cursor.text[after - 1], after, cursor.end) < 0


def _comma_missing(cursor: Cursor, after: int, position: int, *, inner: bool) -> bool:
    """Whether what stands behind a quote and white space is the next member."""
    text, end, top = cursor.text, cursor.end, cursor.top
    newline = "\n" in text[after:position]
    if top.members is None:
        return (
            text[position] in QUOTES
            or (newline and text[position] in "{[")
            or SCALAR_ITEM.match(text, position, end) is not None
        )
    if QUOTED_KEY.match(text, position, end):
        return True
    if text[position] == "{" and len(cursor.stack) > 1 and cursor.stack[-2].members is None:
        return QUOTED_KEY.match(text, position + 1, end) is not None
    key = BARE_KEY.match(text, position, end) if newline else None
    if key is None or top.bare:
        return key is not None
    return key.group("a") in cursor.named if cursor.named else not inner


def _after_comma(cursor: Cursor, position: int, after: int, *, inner: bool) -> bool:
    """What follows a comma after a quote: a member of the innermost container?"""
    text, end, top = cursor.text, cursor.end, cursor.top
    position = skip(text, position, end)
    if position >= end:
        return True
    if text[position] in COMMAS:
        position = skip(text, position + 1, end)
    if position >= end or text[position] in "}]" or ELLIPSIS.match(text, position):
        return True
    if text[position] == ")" and top.closer == ")":
        return True
    if inner and cursor.named and _is_pair_in_text(cursor, position):
        return False
    if top.members is None:
        return _starts_item(cursor, position, after, inner=inner)
    return _starts_member(cursor, after, position, inner=inner)


def _starts_item(cursor: Cursor, position: int, after: int, *, inner: bool) -> bool:
    """Whether an item stands behind a comma; behind quotes inside, not quoted words of a sentence."""
    text, end = cursor.text, cursor.end
    if inner and _WORDS_IN_TEXT.match(text, position, end):
        return False
    if _starts_value(cursor, position):
        return True
    if inner or (text[after - 2].isdigit() and "\n" not in text[after:position]):
        return False
    return (
        lost_start(cursor, position)
        or LINE_REST.match(text, position, end) is not None
        or _BARE_ITEM.match(text, position, end) is not None
    )


def _is_pair_in_text(cursor: Cursor, position: int) -> bool:
    """A key that the schema does not name, with a string that no structure follows."""
    pair = _PAIR_IN_TEXT.match(cursor.text, position, cursor.end)
    return pair is not None and pair.group("a") not in cursor.named


def _starts_member(cursor: Cursor, comma: int, position: int, *, inner: bool) -> bool:
    """Whether a key with its colon stands here, or the next object of a list whose } is lost."""
    text, end = cursor.text, cursor.end
    if QUOTED_KEY.match(text, position, end):
        return True
    odd = ODD_KEY.match(text, position, end)
    if odd is not None and (not cursor.named or odd.group("a").strip("\"'") in cursor.named):
        return True
    if text[position] in QUOTES:
        return _dangles(cursor, position) or _is_faulty_key(cursor, comma, position, inner=inner)
    if text[position] == "{":
        return len(cursor.stack) > 1 and cursor.stack[-2].members is None
    if NUMBER_KEY.match(text, position, end) or JUNK_BEFORE_KEY.match(text, position, end):
        return True
    return _bare_member(cursor, comma, position)


def _is_faulty_key(cursor: Cursor, comma: int, position: int, *, inner: bool) -> bool:
    """A key without its colon or its end quote: one of the schema, or on a line of its own."""
    text, end = cursor.text, cursor.end
    key = _KEY_ALONE.match(text, position, end)
    endless = ENDLESS_KEY.match(text, position, end)
    if key is not None and not lost_colon(text, key.end(), end):
        key = None
    found = key or endless
    if found is not None and not inner and not cursor.named:
        return True  # the object's own keys are not known, and nothing tells of quotes inside
    return found is not None and (found.group("a") in cursor.known or "\n" in text[comma:position])


def _bare_member(cursor: Cursor, comma: int, position: int) -> bool:
    """An unquoted key after a comma: in an object of such keys, a known one, or on its own line."""
    text, end = cursor.text, cursor.end
    key = LOOSE_KEY.match(text, position, end)
    if key is None:
        return cursor.top.bare and _HALF_KEY.fullmatch(text, position) is not None
    if text[key.end("a")] in "\"'":
        return True  # only its first quote is lost
    return cursor.top.bare or key.group("a") in cursor.known or "\n" in text[comma:position]


def _dangles(cursor: Cursor, position: int) -> bool:
    """Whether the text ends inside a key."""
    rest = cursor.text[position : min(position + 130, cursor.end)]
    return position + len(rest) == cursor.end and not re.search(r"[\"'][^\"']*[\"'].", rest)


def lost_start(cursor: Cursor, position: int) -> bool:
    """Whether a string stands here that has lost its opening quote: `{"a": text", "b": 1}`."""
    text, end = cursor.text, cursor.end
    if cursor.top.members is not None:
        found = MEMBER_REST.match(text, position, end)
    elif "\n" in blank_before(text, position) or _is_behind_string(cursor):
        found = LINE_REST.match(text, position, end)
    else:
        found = ITEM_REST.match(text, position, end)
    return found is not None and NUMBER.fullmatch(found.group("a")) is None


def _is_behind_string(cursor: Cursor) -> bool:
    """Whether the item before was a quoted string: then commas belong to this one, up to its quote."""
    return isinstance(cursor.top.last, str) and not cursor.last_bare and not cursor.top.bare


def _starts_value(cursor: Cursor, position: int) -> bool:
    text = cursor.text
    if _ARRAY_VALUE.match(text, position) or LITERAL.match(text, position):
        return True
    return cursor.top.bare or text[position] == "("


def _at_closer(cursor: Cursor, position: int, *, nested: int) -> bool:
    """A bracket follows: does it close something open, with structure after it?"""
    text, end = cursor.text, cursor.end
    closers, ended = closer_run(text, position, end)
    if not cursor.holds(closers[0]):
        return False
    after = skip(text, ended, end)
    if after >= end:
        return not nested or len(closers) > nested
    if after == ended and runs_on(text, cursor.stack[0].start, after, end):
        return False
    closed = len(closers) >= max(1, len(cursor.stack) - 1)  # one may be lost
    if text[after] in COMMAS or text[after] == ";":
        return not nested
    if nested:
        return False
    return closed or "\n" in text[ended:after] or text[after] in "\"'`<[{"
