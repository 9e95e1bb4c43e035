"""
A string while it is read: its decoded parts, and what quotes and brackets inside have told.

Source: spec parse, step 9.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from structguard.reading.cursor import Cursor
from structguard.reading.lookahead import CLOSERS

_BRACKETS = re.compile(r"[{\[]\s{0,20}[\"']?|[}\]]")


@dataclass(slots=True)
class Text:
    """A string while it is read: decoded parts, and what its quotes and brackets told so far."""

    cursor: Cursor
    quote: str
    start: int  # of the content
    is_key: bool
    parts: list[str] = field(default_factory=list[str])
    nested: int = 0
    escaped: bool = False  # its opening quote was escaped, so its closing one is
    over_escaped: bool = False
    wild: bool = False  # it holds escapes JSON does not know, as unescaped LaTeX does
    raw: bool = False  # Python's r"text": a backslash is a backslash
    inner: bool = False  # it holds unescaped quotes
    strict_nesting: bool = True
    doubled: bool = False  # it began with two quotes: ""text""
    curly: int = 0  # curly quotes it has opened and not closed
    brackets: int = 0  # brackets it has opened and not closed, JSON or not
    controls: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def add(self, piece: str) -> None:
        """More content; brackets that JSON inside of it opens and closes are counted."""
        self.parts.append(piece)
        if "[" in piece or "{" in piece or self.brackets:
            self.brackets += piece.count("[") + piece.count("{")
            self.brackets -= piece.count("]") + piece.count("}")
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
