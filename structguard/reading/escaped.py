r"""
A value that was escaped once too often: `{\"key\": \"value\"}`.

Source: spec parse, step 9; class double_encoded of the corpus.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import Final

ESCAPED = re.compile(r"[{\[](?:\s|\\[nrt]|[{\[]){0,40}(?:[A-Za-z_]\w{0,40}\s?:\s?)?\\\"")
# The text of a string literal in single quotes, whose line ends are escapes: '{\\n  "key": 1\\n}'.
LITERAL = re.compile(r"[{\[][{\[ ]{0,9}\\n(?:\s|\\[nrt]|[{\[]){0,40}[\"{\[]")
IN_VALUE = re.compile(r"[,\[]\s{0,20}[\"']\Z")  # the value would be an item of a list of strings
PLAIN_QUOTE = re.compile(r"(?<!\\)\"")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PLAIN: Final = {"n": "\n", "t": "\t", "r": "\r"}


def unescaped(text: str, start: int, end: int) -> tuple[str, list[int]]:
    """The text with one level of escapes taken off, and where in it a character was dropped."""
    parts: list[str] = []
    dropped: list[int] = []
    position, length = start, 0
    for escape in _ESCAPE.finditer(text, start, end):
        char = escape.group(1)
        if char not in '"\\/ntr':
            continue
        parts += (text[position : escape.start()], _PLAIN.get(char, char))
        length += escape.start() - position + 1
        dropped.append(length - 1)
        position = escape.end()
    parts.append(text[position:end])
    return "".join(parts), dropped


def offset_of(dropped: list[int], position: int, start: int) -> int:
    """Where a position of the plain text stands in the escaped one."""
    return start + position + bisect_left(dropped, position)
