"""
Where brackets close, found in one pass for all that are open at once: linear, whatever the text.

Strings are those of strict JSON; a value that is not strict may pair differently, and then fails
the strict read. Source: spec parse, step 6.
"""

from __future__ import annotations

import re
from array import array
from typing import Final

TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|["{}\[\]]', re.DOTALL)
_CLOSERS: Final = {"}": "{", "]": "["}
_MOST: Final = 6  # times the length of the text: what all passes may read
_UNKNOWN: Final = 0
CROSSED: Final = -1
"""The next closer that is left over belongs to another kind of bracket."""
NEVER: Final = -2
"""The text ends before the bracket closes."""


class Brackets:
    """The brackets of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: array[int] | None = None
        self._read = 0  # characters read in all passes

    def end_of(self, start: int, end: int) -> int:
        """The position behind the bracket that closes the one at `start`; CROSSED or NEVER."""
        if self._ends is not None and self._ends[start] != _UNKNOWN:
            found = self._ends[start]
            return found if found <= end else NEVER
        if self._read > _MOST * len(self._text):
            return CROSSED
        return self._pass(start, end)

    def _pass(self, start: int, end: int) -> int:
        """Read from `start` until it closes or cannot, and remember all brackets on the way."""
        if self._text[start] not in "{[":  # full-width: only the repairing reader pairs those
            return CROSSED
        pairs = array("i")  # opened and closed on the way: start, end, start, end, …
        stack = array("i")
        outcome, at = self._pairs(start, end, pairs, stack)
        self._read += at - start
        if outcome <= 0:
            self._remember(pairs, stack, outcome)
        return outcome

    def _pairs(self, start: int, end: int, pairs: array[int], stack: array[int]) -> tuple[int, int]:
        """What became of the first bracket, and where reading ended."""
        text = self._text
        for token in TOKEN.finditer(text, start, end):
            at = token.start()
            char = text[at]
            if char == '"':
                if token.end() - at == 1:
                    break  # a string without an end
            elif char not in _CLOSERS:
                stack.append(at)
            elif text[stack[-1]] != _CLOSERS[char]:
                return CROSSED, at
            else:
                opened = stack.pop()
                if not stack:
                    return at + 1, at
                pairs.extend((opened, at + 1))
        return NEVER, end

    def _remember(self, pairs: array[int], stack: array[int], outcome: int) -> None:
        if self._ends is None:
            self._ends = array("i", bytes(4 * len(self._text)))
        ends = self._ends
        for index in range(0, len(pairs), 2):
            ends[pairs[index]] = pairs[index + 1]
        for opened in stack:
            ends[opened] = outcome
