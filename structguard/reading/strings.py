"""
One string, from its opening quote to the quote that really ends it.

Inside: escapes (an invalid one stays as it is written), raw newlines, unescaped quotes, quotes that
are escaped once too often. A string without an end is ended by the key that follows, by a fence or
by the brackets that close everything; else it runs to the end of the text, and the text is cut.
Source: spec parse, step 9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from structguard.reading.closing import closes_key, closes_value
from structguard.reading.cursor import MISSING, Cursor, GiveUp
from structguard.reading.lookahead import CLOSERS, QUOTED_KEY, QUOTES, TAIL, VALUE_START
from structguard.reading.marks import FENCE, MARK

_STOPS: Final = {
    quote: re.compile(rf"(?:[{re.escape(closers)}]|\\)") for quote, closers in QUOTES.items()
}
_STOPS['"'] = re.compile(r'["\\\u201d]')
_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\n": "\n"}
_HEX = re.compile(r"u([0-9a-fA-F]{4})")
_LOW = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_BRACKETS = re.compile(r"[{\[]\s{0,20}[\"']?|[}\]]")
# Quotes in a sentence: a word follows, then another quote that no structure follows either.
_INSIDE = re.compile(
    r'(?:"[ ]?\w[^"\\{}\[\]:,\n\u201d]{0,60}(?="(?![\s:,}\]"\'`;\\+/<#\uff0c\uff1a]|\Z)))++'
    r'|(?:" \w[^"\\{}\[\]:,\n\u201d]{0,60}(?=" \w))++'
)
_LATEX = re.compile(
    r"frac|forall|beta|bar|begin|binom|big|boldsymbol|bmod|theta|times|text|tau|tan|tilde|to\b"
    r"|triangle|nabla|neq|nu\b|ne\b|not|right|rho|rm\b|rightarrow|rangle|langle"
)


@dataclass(slots=True)
class _Text:
    """A string while it is read: decoded parts, and what its quotes and brackets told so far."""

    cursor: Cursor
    quote: str
    start: int  # of the content
    is_key: bool
    parts: list[str] = field(default_factory=list[str])
    nested: int = 0
    over_escaped: bool = False
    wild: bool = False  # it holds escapes JSON does not know, as unescaped LaTeX does
    inner: bool = False  # it holds unescaped quotes
    strict_nesting: bool = True
    doubled: bool = False  # it began with two quotes: ""text""
    curly: int = 0  # curly quotes it has opened and not closed

    def add(self, piece: str) -> None:
        """More content; brackets that JSON inside of it opens and closes are counted."""
        self.parts.append(piece)
        self.curly += piece.count("\u201c") + piece.count("\u201e")
        if (
            not self.is_key
            and self.strict_nesting
            and ("{" in piece or "[" in piece or self.nested)
        ):
            self._count(piece)

    def _count(self, piece: str) -> None:
        for bracket in _BRACKETS.finditer(piece):
            found = bracket.group()
            if found in CLOSERS:
                self.nested -= self.nested > 0
            elif self.nested or found[-1] in "\"'":
                self.nested += 1

    def before_quote(self, piece: str) -> None:
        """A quote follows this piece: an opener right before it is JSON inside the string."""
        if not self.nested and self.strict_nesting and piece.rstrip()[-1:] in ("{", "["):
            self.nested = 1


def read_string(cursor: Cursor, *, is_key: bool) -> object:
    """
    The string whose opening quote is at the cursor; MISSING when the cut takes it.

    Raises:
        GiveUp: an object begins anew inside of it.
    """
    start = cursor.position
    quote = cursor.text[start]
    if quote != '"':
        cursor.note("quotes", start)
    if quote in "\"'" and cursor.text.startswith(quote * 3, start):
        closed = _triple(cursor, quote * 3)
        if closed is not None:
            return closed
    text = _Text(cursor, quote, start + 1, is_key)
    found = _read(text)
    if found is None and text.nested:
        text = _Text(cursor, quote, start + 1, is_key, strict_nesting=False)
        found = _read(text)
    return _unclosed(text) if found is None else found


def _triple(cursor: Cursor, fence: str) -> str | None:
    """A string in triple quotes: taken as it stands."""
    start = cursor.position + 3
    end = cursor.text.find(fence, start, cursor.end)
    if end < 0 or not cursor.text[start:end].strip():
        return None
    cursor.note("triple quotes", cursor.position)
    cursor.position = end + 3
    return cursor.text[start:end]


def _read(text: _Text) -> str | None:
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
            return None
        at = stop.start()
        if at > position:
            text.add(source[position:at])
        if source[at] == "\\":
            position = _escape(text, at)
        elif at > text.start and (inside := _INSIDE.match(source, at, end)):
            text.inner = True
            text.add(inside.group())
            position = inside.end()
        elif (after := _quote(text, at)) is None:
            return _finish(text)
        else:
            position = after


def _finish(text: _Text) -> str:
    value = "".join(text.parts)
    cursor = text.cursor
    if "\n" in cursor.text[text.start : cursor.position] and "\n" in value:
        raw = cursor.text.find("\n", text.start, cursor.position)
        if raw >= 0:
            cursor.note("raw newline", raw)
    if text.inner:
        cursor.note("unescaped quotes", text.start)
    return value


def _quote(text: _Text, at: int) -> int | None:
    """A quote: None when it ended the string (the cursor is behind it), else where to go on."""
    cursor = text.cursor
    source = cursor.text
    char = source[at]
    after = at + 1
    while after < cursor.end and source[after] == char:
        after += 1  # of a run of quotes only the last can close
    closes = _closes(text, char, after)
    if closes:
        _last_of_run(text, at, after)
        return None
    if after - at > 1 and not text.is_key and _key_after_run(text, after - 1):
        text.parts.append(source[at : after - 2])
        cursor.position = after - 1
        return None
    if text.is_key and _key_without_end(text, at):
        return None
    if not text.is_key and (_ended_by_key(text, at) or _ended_by_item(text, at)):
        return None
    text.before_quote(text.parts[-1] if text.parts else "")
    if at == text.start and after - at == 1:
        text.doubled = True
    else:
        text.inner = True
    text.parts.append(source[at:after])
    return after


def _closes(text: _Text, char: str, after: int) -> bool:
    """Whether structure follows the quote that ends before `after`."""
    if char == "\u201d" and text.quote == '"':
        return _curly_closes(text, after)
    if text.is_key:
        return closes_key(text.cursor, after)
    return closes_value(text.cursor, after, nested=text.nested, inner=text.inner)


def _last_of_run(text: _Text, at: int, after: int) -> None:
    """Of a run of quotes the last one closes; a string that began doubled ends doubled."""
    source = text.cursor.text
    content = source[at : after - 1]
    if content and text.doubled and (text.is_key or text.cursor.doubled):
        text.cursor.doubled = True
        text.parts[0] = text.parts[0].removeprefix(text.quote)
        content = content[1:]
    elif content:
        text.inner = True
    text.parts.append(content)
    text.cursor.position = after


def _key_after_run(text: _Text, at: int) -> bool:
    """`"…""next": 1`: the second quote opens the next key, only the comma is lost."""
    cursor = text.cursor
    key = QUOTED_KEY.match(cursor.text, at, cursor.end)
    return (
        key is not None
        and cursor.top.members is not None
        and not text.nested
        and VALUE_START.match(cursor.text, key.end(), cursor.end) is not None
    )


def _curly_closes(text: _Text, after: int) -> bool:
    """A curly quote closes a straight one if structure follows and it opened none inside."""
    if text.curly > 0:
        text.curly -= 1
        return False
    return (
        closes_key(text.cursor, after)
        if text.is_key
        else closes_value(text.cursor, after, nested=text.nested)
    )


def _key_without_end(text: _Text, at: int) -> bool:
    """`{"name: "Ada"}`: the quote opens the value, the key has lost its own."""
    content = text.parts[0] if len(text.parts) == 1 else ""
    key = content.rstrip()
    if not key.endswith(":") or "\n" in content or not key[:-1].strip():
        return False
    cursor = text.cursor
    cursor.note("missing end quote", at)
    cursor.position = text.start + content.rindex(":")
    text.parts[:] = [key[:-1].rstrip()]
    return True


def _ended_by_key(text: _Text, at: int) -> bool:
    """
    Whether this quote opens the next key, so that the string has lost its end.

    Certain after a comma or on a new line; right after text only for a property of the schema.
    """
    cursor = text.cursor
    key = QUOTED_KEY.match(cursor.text, at, cursor.end)
    if key is None or cursor.top.members is None:
        return False
    if VALUE_START.match(cursor.text, key.end(), cursor.end) is None:
        return False
    name = next(group for group in key.groups() if group is not None)
    content = "".join(text.parts[-40:])
    stripped = content.rstrip()
    if stripped.endswith("{"):
        _restarted(cursor, name, at)
        return False
    if text.nested or (cursor.known and name not in cursor.known):
        return False
    own_line = "\n" in content[len(stripped) :]
    if not (stripped.endswith(",") or own_line or _is_new_property(cursor, name)):
        return False
    _end_before_key(text, at)
    return True


def _ended_by_item(text: _Text, at: int) -> bool:
    """In an array: a quote on its own line after a comma opens the next string."""
    cursor = text.cursor
    if cursor.top.members is not None or not text.parts or text.nested:
        return False
    content = text.parts[-1]
    stripped = content.rstrip()
    if not stripped.endswith(",") or "\n" not in content[len(stripped) :]:
        return False
    _end_before_key(text, at)
    return True


def _is_new_property(cursor: Cursor, name: str) -> bool:
    """A property of the schema that this object does not have yet."""
    return (
        name in cursor.known and name not in (cursor.top.members or {}) and name != cursor.top.key
    )


def _end_before_key(text: _Text, at: int) -> None:
    cursor = text.cursor
    value = "".join(text.parts).rstrip()
    value = value.removesuffix(",").rstrip()
    if value.endswith('"') and cursor.text[:at].rstrip().rstrip(",").rstrip().endswith('\\"'):
        value = value[:-1] + "\\"  # "C:\dir\", "next": the backslash was content
    cursor.note("missing end quote", at)
    cursor.position = at
    text.parts[:] = [value]


def _restarted(cursor: Cursor, name: str, at: int) -> None:
    """`{"city": "Par{"city": "Paris"}`: the model began again; give up what came before."""
    for frame in cursor.stack:
        members = frame.members
        if members is None:
            continue
        first = next(iter(members), frame.key)
        if first == name:
            brace = cursor.text.rindex("{", 0, at)
            raise GiveUp("the object begins anew inside a string", at, brace)


def _escape(text: _Text, at: int) -> int:
    """A backslash: decode what it escapes, or keep it where JSON knows no such escape."""
    cursor = text.cursor
    source, end = cursor.text, cursor.end
    after = at
    while after < end and source[after] == "\\":
        after += 1
    count = after - at
    if after < end and source[after] == '"':
        return _escaped_quote(text, at, after, count)
    text.parts.append("\\" * (count // 2))
    if count % 2 == 0:
        return after
    if after >= end:
        return end  # half an escape at the cut
    return _single_escape(text, after)


def _escaped_quote(text: _Text, at: int, after: int, count: int) -> int:
    if count % 2 and not text.over_escaped:
        text.parts.append("\\" * (count // 2) + '"')
        return after + 1
    if text.quote == '"' and count % 2 == 0:
        if not text.over_escaped and closes_value(text.cursor, after + 1, nested=text.nested):
            text.parts.append("\\" * (count // 2))
            return after  # the quote itself is judged next
        text.cursor.note("escaped twice", at)
        text.over_escaped = True
    text.before_quote(text.parts[-1] if text.parts else "")
    text.parts.append('"')
    return after + 1


def _single_escape(text: _Text, after: int) -> int:
    source, end = text.cursor.text, text.cursor.end
    char = source[after]
    if char == "u" and (code := _HEX.match(source, after, end)):
        return _unicode(text, code)
    if char in (text.quote, "'"):
        text.parts.append(char)
        if text.quote == '"':
            text.cursor.note("invalid escape", after - 1)
        return after + 1
    known = _ESCAPES.get(char)
    if known is not None and not (text.wild and _LATEX.match(source, after, end)):
        text.parts.append(known)
        return after + 1
    if char == "u" and end - after < 5 and source[after:end].isalnum() and end == len(source):
        return end  # half an escape at the cut
    text.wild = text.wild or (char.isalpha() and char != "u")
    text.cursor.note("invalid escape", after - 1)
    text.parts.append("\\" + char)
    return after + 1


def _unicode(text: _Text, code: re.Match[str]) -> int:
    """One UTF-16 unit, or a pair of them; a lone half stays as it is written."""
    number = int(code.group(1), 16)
    if not 0xD800 <= number <= 0xDFFF:
        text.parts.append(chr(number))
        return code.end()
    low = _LOW.match(text.cursor.text, code.end(), text.cursor.end)
    if number >= 0xDC00 or low is None:
        if code.end() >= len(text.cursor.text):
            return code.end()  # half a pair at the cut
        text.cursor.note("lone surrogate", code.start() - 1)
        text.parts.append("\\" + code.group())
        return code.end()
    text.parts.append(chr(0x10000 + ((number - 0xD800) << 10) + int(low.group(1), 16) - 0xDC00))
    return low.end()


def _unclosed(text: _Text) -> object:
    """No closing quote up to the end: a fence, closing brackets or the cut ends the string."""
    cursor = text.cursor
    if text.is_key:
        if text.inner or text.doubled:
            raise GiveUp("a key without a colon", text.start)
        cursor.cut = True
        return MISSING
    content = "".join(text.parts)
    raw = cursor.text[text.start : cursor.end]
    bound = _bound(raw)
    tail = TAIL.search(raw[:bound])
    closers = [CLOSERS[c] for c in tail.group() if c in CLOSERS] if tail else []
    ended = bound < len(raw) or "\n" in (tail.group().rstrip() if tail else "")
    expected = [frame.closer for frame in reversed(cursor.stack)]
    if tail is not None and closers and ended and closers == expected:
        return _end_at(text, tail.start(), content, raw)
    if bound < len(raw):
        return _end_at(text, bound, content, raw)
    if text.inner and closers and closers == expected:
        raise GiveUp("a string whose end cannot be told", text.start)
    cursor.cut = True
    return content if cursor.partial else MISSING


def _bound(raw: str) -> int:
    """Where a closing fence or a special token stands in a string that has no end."""
    mark = MARK.search(raw)
    bound = mark.start() if mark else len(raw)
    inner = 0
    for fence in FENCE.finditer(raw, 0, bound):
        if fence.group(2):
            inner += 1  # a block of code inside the string
        elif inner:
            inner -= 1
        else:
            return len(raw[: fence.start()].rstrip())
    return bound


def _end_at(text: _Text, length: int, content: str, raw: str) -> str:
    """End the string after `length` characters of its raw text."""
    cursor = text.cursor
    dropped = len(raw) - length
    cursor.note("missing end quote", text.start + length)
    cursor.position = text.start + length
    return content[: len(content) - dropped].rstrip()
