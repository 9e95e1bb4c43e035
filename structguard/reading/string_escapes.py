"""
Escapes in a string: decoded where JSON knows them, kept as written where it does not.

Source: spec parse, step 9; RFC 8259, section 7.
"""

from __future__ import annotations

import re
from typing import Final

from structguard.reading.closing import closes_value
from structguard.reading.string_state import Text

_ESCAPES: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\n": "\n"}
_HEX = re.compile(r"u([0-9a-fA-F]{4})")
_LOW = re.compile(r"\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_LATEX = re.compile(
    r"frac|forall|beta|bar|begin|binom|big|boldsymbol|bmod|theta|times|text|tau|tan|tilde|to\b"
    r"|triangle|nabla|neq|nu\b|ne\b|not|right|rho|rm\b|rightarrow|rangle|langle"
)
# A drive and its folders; what has an ending is a file, behind which a line may end.
_PATH = re.compile(r"[A-Za-z]:(?:\\[^\\\n\"*?<>|:.]{0,80})*")


def escape(text: Text, at: int) -> int:
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


def _escaped_quote(text: Text, at: int, after: int, count: int) -> int:
    if text.escaped and count == 1 and closes_value(text.cursor, after + 1, nested=text.nested):
        return after  # the quote itself is judged next
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


def _single_escape(text: Text, after: int) -> int:
    source, end = text.cursor.text, text.cursor.end
    char = source[after]
    if char == "u" and (code := _HEX.match(source, after, end)):
        return _unicode(text, code)
    if char in (text.quote, "'"):
        text.parts.append(char)
        if text.quote == '"':
            text.cursor.note("invalid escape", after - 1)
        return after + 1
    if _is_known(text, after):
        if _is_doubtful(text, after):
            text.controls.append((len(text.parts), "\\" + char))
        text.parts.append(_ESCAPES[char])
        return after + 1
    if char == "u" and end - after < 5 and source[after:end].isalnum() and end == len(source):
        return end  # half an escape at the cut
    if char.isalpha() and char != "u":
        _take_as_written(text)
    text.cursor.note("invalid escape", after - 1)
    text.parts.append("\\" + char)
    return after + 1


def _take_as_written(text: Text) -> None:
    """Backslashes are content here, as in paths or LaTeX: those before were so as well."""
    text.wild = True
    for index, written in text.controls:
        text.parts[index] = written


def _is_known(text: Text, after: int) -> bool:
    """Whether JSON has the escape; among escapes it has not, some are letters of LaTeX or paths."""
    char = text.cursor.text[after]
    if char not in _ESCAPES:
        return False
    return not text.wild or not _is_doubtful(text, after)


def _is_doubtful(text: Text, after: int) -> bool:
    """Whether what looks like an escape may be a letter: of LaTeX, or of a path from its drive on."""
    source = text.cursor.text
    if source[after] in "bf" or _LATEX.match(source, after, text.cursor.end):
        return True
    drive = source.rfind(":\\", max(text.start + 1, after - 200), after)
    if drive < 0 or source[drive - 2].isalnum() or not source[after + 1 : after + 2].islower():
        return False
    return _PATH.fullmatch(source, drive - 1, after - 1) is not None


def _unicode(text: Text, code: re.Match[str]) -> int:
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
