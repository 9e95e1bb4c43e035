"""
One string, from its opening quote to the quote that really ends it.

Inside: escapes (an invalid one stays as it is written), raw newlines, unescaped quotes, quotes that
are escaped once too often. A string without an end is ended by the key that follows, by a fence or
by the brackets that close everything; else it runs to the end of the text, and the text is cut.
Source: spec parse, step 9.
"""

from __future__ import annotations

import re
from typing import Final

from structguard.reading.beyond import before_wrong_closers
from structguard.reading.closing import closes_key, closes_value
from structguard.reading.cursor import Cursor, GiveUp
from structguard.reading.lookahead import QUOTES
from structguard.reading.string_ends import (
    ended_by_item,
    ended_by_key,
    key_after_run,
    key_without_end,
    unclosed,
)
from structguard.reading.string_escapes import escape
from structguard.reading.string_state import Text

_STOPS: Final = {
    quote: re.compile(rf"(?:[{re.escape(closers)}]|\\)") for quote, closers in QUOTES.items()
}
_STOPS['"'] = re.compile(r'["\\\u201d]')
_ENDLESS: Final = 3  # strings that run to the end if what looks like JSON in them is content
_NO_INCH: Final = re.compile(r'(?<!\d)"')
# A bracket that the string has opened itself, then the quote that ends it: "f("a") { g("b") }",
_GOES_ON = re.compile(
    r"\s{0,40}[\]})](?:[\s;)\]}]{0,20}[\w.=&|+?(]"
    r"|[^\"]{0,200}\"\s{0,40}(?:,\s{0,40}\"[^\"\n]{1,80}\"\s{0,10}:|[}\]\s]{1,40}\Z))"
)
_BEHIND_COMMA = re.compile(r",\s{0,40}\"(?=[^\s,\]])")
_VALUE_BEHIND = re.compile(r":\s{0,9}(?:[\"{\[]|-?[0-9]|true|false|null)")
_OTHER_END = re.compile(
    r"(?P<a>[^\"\\\n]{0,400}+)\"\s{0,40}(?:,\s{0,40}\"[^\"\n]{1,80}\"\s{0,10}:|[}\]])"
)
# Quotes in a sentence: a word follows, then another quote that no structure follows either.
_INSIDE = re.compile(
    r'(?:"[ ]?\w[^"\\{}\[\]:,\n\u201d]{0,60}(?="(?![\s:,}\]"\'`;\\+/<#\uff0c\uff1a]|\Z)))++'
    r'|(?:" \w[^"\\{}\[\]:,\n\u201d]{0,60}(?=" \w))++'
)


def read_rest(cursor: Cursor) -> object:
    """A string that has lost its opening quote, from its first character on."""
    text = Text(cursor, '"', cursor.position, is_key=False)
    found = _read(text)
    return unclosed(text) if found is None else found


def read_string(cursor: Cursor, *, is_key: bool) -> object:
    """
    The string whose opening quote, perhaps escaped, is at the cursor; MISSING when the cut takes it.

    Raises:
        GiveUp: an object begins anew inside of it.
    """
    escaped = cursor.text[cursor.position] == "\\"
    if escaped:
        cursor.note("escaped quotes", cursor.position)
        cursor.position += 1
    start = cursor.position
    quote = cursor.text[start]
    if quote != '"':
        cursor.note("quotes", start)
    if quote in "\"'" and cursor.text.startswith(quote * 3, start):
        closed = _triple(cursor, quote * 3)
        if closed is not None:
            return closed
    strictly = cursor.endless < _ENDLESS
    text = Text(cursor, quote, start + 1, is_key, escaped=escaped, strict_nesting=strictly)
    text.raw, cursor.raw = cursor.raw, False
    found = _read(text)
    if found is None and text.nested:
        cursor.endless += 1
        text = Text(cursor, quote, start + 1, is_key, strict_nesting=False)
        found = _read(text)
    if found is None and quote == "'" and strictly and (end := _other_quote(text)) is not None:
        cursor.note("wrong end quote", end)
        cursor.position = end + 1
        return cursor.text[text.start : end]
    return unclosed(text) if found is None else found


def _other_quote(text: Text) -> int | None:
    """`'text", "next": 1`: where a string without an end of its own is ended by the other quote."""
    text.cursor.endless += 1
    end = _OTHER_END.match(text.cursor.text, text.start, text.cursor.end)
    return None if end is None else end.end("a")


def _triple(cursor: Cursor, fence: str) -> str | None:
    """A string in triple quotes: taken as it stands."""
    start = cursor.position + 3
    end = cursor.text.find(fence, start, cursor.end)
    if end < 0 or not cursor.text[start:end].strip():
        return None
    cursor.note("triple quotes", cursor.position)
    cursor.position = end + 3
    return cursor.text[start:end]


def _read(text: Text) -> str | None:
    """Read up to the closing quote; None when there is none."""
    cursor = text.cursor
    source, end = cursor.text, cursor.end
    stops = _STOPS[text.quote]
    position = text.start
    while True:
        stop = stops.search(source, position, end)
        if stop is None:
            text.add(source[position:end])
            cursor.position = end
            cursor.overshot += end - text.start
            return None
        at = stop.start()
        if at > position:
            text.add(source[position:at])
        if source[at] == "\\" and text.raw:
            text.add(source[at : at + 2])
            position = at + 2
        elif source[at] == "\\":
            position = escape(text, at)
        elif at > text.start and (inside := _INSIDE.match(source, at, end)):
            text.inner = True
            text.add(inside.group())
            position = inside.end()
        elif (after := _quote(text, at)) is None:
            return _finish(text)
        else:
            position = after


def _finish(text: Text) -> str:
    value = "".join(text.parts)
    cursor = text.cursor
    if text.escaped and cursor.text[cursor.position - 2] != "\\" and value.count('"') % 2:
        value = '"' + value  # its own opening quote is lost: what was escaped is content
    if text.doubled and value[:1] == text.quote == '"' and value.count('"') == 1:
        cursor.note("doubled quote", text.start)
        value = value[1:]
    if "\n" in cursor.text[text.start : cursor.position] and "\n" in value:
        raw = cursor.text.find("\n", text.start, cursor.position)
        if raw >= 0:
            cursor.note("raw newline", raw)
    if text.inner:
        if cursor.top.members is None and _may_be_two(
            cursor.text[text.start : cursor.position - 1]
        ):
            raise GiveUp("one item with a quote, or two that have lost one", text.start)
        cursor.note("unescaped quotes", text.start)
    return value


def _may_be_two(raw: str) -> bool:
    """`["a, "b"]`: one quote inside, behind a comma: the first item has lost its end, or it is text."""
    return raw.replace('\\"', "").count('"') == 1 and _BEHIND_COMMA.search(raw) is not None


def _quote(text: Text, at: int) -> int | None:
    """A quote: None when it ended the string (the cursor is behind it), else where to go on."""
    cursor = text.cursor
    cursor.looks += 1
    source = cursor.text
    char = source[at]
    after = at + 1
    while after < cursor.end and source[after] == char:
        after += 1  # of a run of quotes only the last can close
    closes = _closes(text, char, after)
    if closes:
        _last_of_run(text, at, after)
        return None
    if after - at > 1 and not text.is_key and key_after_run(text, after - 1):
        text.parts.append(source[at : after - 2])
        cursor.position = after - 1
        return None
    if text.is_key and key_without_end(text, at):
        return None
    if not text.is_key and (ended_by_key(text, at) or ended_by_item(text, at)):
        return None
    _add_quote(text, at, after)
    return after


def _add_quote(text: Text, at: int, after: int) -> None:
    """A quote, or a run of them, that belongs to the string."""
    source = text.cursor.text
    if not text.inner and not text.is_key and _is_key_as_value(text, at):
        raise GiveUp("a key where a value belongs", at)
    text.before_quote(text.parts[-1] if text.parts else "")
    if at == text.start and after - at == 1:
        text.doubled = True
    elif source[at] == "\u201d" and text.quote == '"':
        pass  # a curly quote needs no escape
    else:
        text.inner = True
    text.parts.append(source[at:after])


def _is_key_as_value(text: Text, at: int) -> bool:
    """`{"a": "b": 1`: an object has lost its brace; no text begins so."""
    if text.cursor.top.members is None or len(text.parts) != 1:
        return False
    return (
        text.parts[0].isidentifier() and _VALUE_BEHIND.match(text.cursor.text, at + 1) is not None
    )


def _closes(text: Text, char: str, after: int) -> bool:
    """Whether structure follows the quote that ends before `after`."""
    if char == "\u201d" and text.quote == '"':
        return _curly_closes(text, after)
    if text.is_key:
        return closes_key(text.cursor, after)
    if (
        text.inner
        and text.brackets > 0
        and _GOES_ON.match(text.cursor.text, after, text.cursor.end)
    ):
        return False
    return closes_value(text.cursor, after, nested=text.nested, inner=text.inner) or (
        text.brackets <= 0 and not text.nested and before_wrong_closers(text, after)
    )


def _last_of_run(text: Text, at: int, after: int) -> None:
    """Of a run of quotes the last one closes; a string that began doubled ends doubled."""
    source = text.cursor.text
    content = source[at : after - 1]
    if content and text.doubled and (text.is_key or text.cursor.doubled):
        text.cursor.doubled = True
        text.parts[0] = text.parts[0].removeprefix(text.quote)
        content = content[1:]
    elif content and _closes_twice(text, at, after):
        text.cursor.note("doubled quote", at)
        content = ""
    elif content:
        text.inner = True
    text.parts.append(content)
    text.cursor.position = after


def _closes_twice(text: Text, at: int, after: int) -> bool:
    """`"text"",`: no quote inside that waits for its other one; behind a digit it may be an inch."""
    if text.quote != '"' or after - at != 2 or len(_NO_INCH.findall("".join(text.parts))) % 2:
        return False
    return text.is_key or not text.cursor.text[at - 1].isdigit()


def _curly_closes(text: Text, after: int) -> bool:
    """A curly quote closes a straight one if structure follows and it opened none inside."""
    if text.curly > 0:
        text.curly -= 1
        return False
    return (
        closes_key(text.cursor, after)
        if text.is_key
        else closes_value(text.cursor, after, nested=text.nested)
    )
