"""
Bounded look-ahead: what the repairing reader may know about the text it has not read yet.

Every pattern has an upper bound on what it reads, so that a look at each quote of a hostile text
still costs a constant. Source: spec parse, step 9.
"""

from __future__ import annotations

import re
from typing import Final

SPACE: Final = r"\s\u180e\u200b-\u200f\u2060\u2581\ufeff"  # U+2581: a token's own blank
WORDS: Final = 64  # longest unquoted key, characters
_KEY: Final = 120  # longest quoted key that look-ahead recognises

# White space; the mark of a Markdown quote begins its lines.
BLANK = re.compile(rf"(?:[{SPACE}]++|(?<=\n)>)*+")
# The blank and the line end of a byte-level tokenizer, where they leaked.
_LEAKED = re.compile(rf"(?:[{SPACE}]|[\u0120\u010a](?=[\u0120\u010a\W\d]|true|false|null))++")
# Line ends written as escapes, between the parts of a value: {\n "a": 1\n}.
_WRITTEN = re.compile(r"(?:\\[nrt]\s{0,80}){1,8}(?=[\"'\[\]{}]|```|\Z)")
# In a text of one line a comment ends before a bracket or the next key.
_LAST_LINE = re.compile(r"(?:(?![}\]]|,\s{0,9}\")[^\n]){0,500}")
# A remark at the end of a line, and SQL's comment: 30,  <-- a guess
_ARROW = re.compile(r"(?:\u2190|<-{1,3}|--)[ \t][^\n\"]{0,200}(?=\n)")
_COMMENTS: Final = (("/*", "*/", 1000), ("<!--", "-->", 1000))
_LINE: Final = 2000  # longest line comment
ELLIPSIS = re.compile(r"(?:\.{3,}|\u2026)")

# Which characters end a string that this one began.
QUOTES: Final[dict[str, str]] = {
    '"': '"',
    "'": "'",
    "`": "`\u00b4",
    "\u201c": '\u201d\u201c"',
    "\u201d": '\u201d"',
    "\uff02": '\uff02"',
    "\u201e": '\u201c\u201d"',
    "\u2018": "\u2019'",
    "\u2019": "\u2019'",
    "\u300c": "\u300d",
    "\u00ab": "\u00bb",
    "\u00b4": "\u00b4'",
}
COLONS: Final = ":\uff1a"
COMMAS: Final = ",\uff0c\u3001\u060c"
OPENERS: Final[dict[str, str]] = {"{": "}", "[": "]", "(": ")", "\uff5b": "}", "\uff3b": "]"}
CLOSERS: Final[dict[str, str]] = {"}": "}", "]": "]", ")": ")", "\uff5d": "}", "\uff3d": "]"}

# Python's u'text' and b'text', not a word that has lost its opening quote: [a", b"].
PREFIX = re.compile(
    r"""[bruBRU]{1,2}(?=(?:"(?:[^"\\\n]|\\.){0,400}+"|'(?:[^'\\\n]|\\.){0,400}+')\s{0,9}[,:}\])])"""
)
QUOTED_KEY = re.compile(
    rf"""(?:\\|{PREFIX.pattern})?(?:"(?P<a>[^"\\\n]{{0,{_KEY}}})\\?"|'(?P<b>[^'\\\n]{{0,{_KEY}}})'"""
    rf"""|[\u201c\u2018\u201d\uff02](?P<c>[^\u201d\u2019\u201c\uff02"\n]{{0,{_KEY}}})[\u201d\u2019\uff02"])\s{{0,40}}[:\uff1a]"""
)
# A quoted key whose text holds unescaped quotes itself: "k"e"y":
ODD_KEY = re.compile(rf"""(?P<q>["'])(?P<a>[^\n:,{{}}]{{1,{_KEY}}})(?P=q)\s{{0,10}}[:\uff1a]""")
BARE_KEY = re.compile(rf"(?P<a>[^\W\d][\w$.-]{{0,{WORDS}}})\s{{0,10}}[:\uff1a](?!//)")
LOOSE_KEY = re.compile(
    rf"(?P<a>[^\s:\uff1a,\uff0c{{}}\[\]<>\"'`\n][^:\uff1a,\uff0c{{}}\[\]\n\"]{{0,{WORDS}}}?)[\"']?"
    r"\s{0,10}[:\uff1a](?!//)"
)
# `"key: 1`: a key that has lost its end quote, before a value.
ENDLESS_KEY = re.compile(
    r"[\"'](?P<a>[^\"':,{}\[\]\n\\]{1,60}?)\s{0,9}:\s{0,9}"
    r"(?=[{\[\"']|-?[0-9]|(?:true|false|null|True|False|None)\b)"
)
VALUE_START = re.compile(
    r"\s{0,40}(?:[\"'{\[\u201c\-\d.]|(?:true|false|null|True|False|None|TRUE|FALSE|NULL|NaN)\b)"
)
LITERAL = re.compile(r"(?:true|false|null|none|undefined|nan|-?infinity)(?![\w-])", re.IGNORECASE)
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+")
# What follows a lost opening quote: text up to the closing one, and structure behind it.
_REST: Final = r"(?P<a>[^\s\"'`\[\]{{}}(),:](?:[^\"\\{not_in}\n]|\\.){{0,400}}+)\"\s{{0,40}}"
MEMBER_REST = re.compile(
    _REST.format(not_in="") + r"(?:,\s{0,40}(?:\"[^\"\n]{1,80}\"|[\w$-]{1,40})\s{0,9}:|[}\]])"
)
ITEM_REST = re.compile(_REST.format(not_in=",") + r"(?:\]|,\s{0,40}\")")
LINE_REST = re.compile(_REST.format(not_in="") + r"(?:\]|,\s{0,40}[\"\n])")
_CLOSER_RUN = re.compile(rf"(?:[{SPACE}]{{0,200}}[}}\])\uff5d\uff3d]){{1,16}}")
JUNK_BEFORE_KEY = re.compile(r"[A-Za-z_]\w{0,40}\s{1,9}(?=[\"'][^\"'\n]{1,80}[\"']\s{0,9}:)")
NUMBER_KEY = re.compile(
    r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?\s{0,9}:\s{0,9}(?:[\"'{\[\d-]|true|false|null)"
)
SCALAR_ITEM = re.compile(
    r"(?:-?[0-9][0-9.eE+-]{0,30}|(?:true|false|null|None|True|False)\b)\s{0,40}(?:[,\]\n]|\Z|(?<=\s)[-0-9tfnTFN])"
)
SURPLUS = re.compile(
    rf"[{SPACE}]{{0,40}}[,\uff0c][{SPACE}]{{0,40}}[\"'][^\"'\n]{{0,80}}[\"'][ ]{{0,10}}[:\uff1a]"
)
TAIL = re.compile(rf"[{SPACE}}}\])]*\Z")


def blank(text: str, position: int, end: int) -> int:
    """The first position at or after `position` that is not white space."""
    found = BLANK.match(text, position, end)
    after = found.end() if found else position
    if (
        after < end
        and text[after] in "\u0120\u010a"
        and (leaked := _LEAKED.match(text, after, end))
    ):
        return leaked.end()
    return after


def blank_before(text: str, position: int) -> str:
    """The white space before a position."""
    before = text[max(0, position - 200) : position]
    return before[len(before.rstrip()) :]


def comment_end(text: str, position: int, end: int) -> int:
    """Where the comment that begins here ends; `position` itself when there is none."""
    for opener, closer, most in _COMMENTS:
        if text.startswith(opener, position, end):
            limit = min(end, position + most)
            found = text.find(closer, position + len(opener), limit)
            if found >= 0:
                return found + len(closer)
            return end if limit == end and closer == "*/" else position
    if text[position] == "\\":
        written = _WRITTEN.match(text, position, end)
        return written.end() if written else position
    if text[position] == "/" and position + 1 == end == len(text):
        return end  # half a comment at the cut
    if text.startswith("//", position, end) or (
        text[position] == "#" and not text.startswith("##", position)
    ):
        return _line_end(text, position, end)
    arrow = _ARROW.match(text, position, end)
    return arrow.end() if arrow else position


def _line_end(text: str, position: int, end: int) -> int:
    limit = min(end, position + _LINE)
    newline = text.find("\n", position, limit)
    if newline >= 0:
        return newline
    last = _LAST_LINE.match(text, position, limit)
    return last.end() if last else position


_BEGINS_COMMENT: Final = "/#<\\-\u2190"


def skip(text: str, position: int, end: int) -> int:
    """The first position at or after `position` that is neither white space nor a comment."""
    position = blank(text, position, end)
    while position < end and text[position] in _BEGINS_COMMENT:
        after = comment_end(text, position, end)
        if after == position:
            break
        position = blank(text, after, end)
    return position


def closer_run(text: str, position: int, end: int) -> tuple[list[str], int]:
    """The closing brackets that stand here, in JSON's spelling, and where they end."""
    run = _CLOSER_RUN.match(text, position, end)
    if run is None:
        return [], position
    return [CLOSERS[char] for char in run.group() if char in CLOSERS], run.end()


def key_at(text: str, position: int, end: int) -> str | None:
    """The quoted key that stands here together with its colon."""
    found = QUOTED_KEY.match(text, position, end)
    if found is None:
        return None
    return next(group for group in found.groups() if group is not None)
