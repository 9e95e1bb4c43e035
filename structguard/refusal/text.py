"""
How text is brought to one spelling, and patterns that are only tried where they can match.

Patterns run on `plain()` text: lower case, one kind of quote, single blanks. `spaced()` also turns
underscores into blanks, so that one pattern reads `json_schema`, "JSON schema" and `json-schema`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

_QUOTES = str.maketrans(dict.fromkeys('\u2018\u2019\u201c\u201d\u300c\u300d`"', "'"))
_LINK = re.compile(r"\bhttps?://[^\s)'>\]]+")
_BLANKS = re.compile(r"\s+")


def without_links(text: str) -> str:
    """The text without web addresses: a link to the format's documentation names nothing."""
    return _LINK.sub("", text)


def plain(text: str) -> str:
    """The text as patterns read it: no links, lower case, straight quotes, single blanks."""
    return _BLANKS.sub(" ", without_links(text).translate(_QUOTES)).lower().strip()


def spaced(text: str) -> str:
    """Plain text with underscores as blanks."""
    return text.replace("_", " ")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


class Words:
    """
    Alternatives, each behind literals one of which every match of it holds.

    The literals are looked for first and a pattern is compiled when they are first found: neither
    importing the table nor reading an unrelated error pays for a hundred patterns.
    """

    def __init__(self, *alternatives: tuple[str, str]) -> None:
        self.alternatives: tuple[tuple[tuple[str, ...], str], ...] = tuple(
            (tuple(gate.split("|")), text) for gate, text in alternatives
        )

    def all(self, text: str) -> Iterator[re.Match[str]]:
        """All matches, alternative by alternative."""
        for gate, pattern in self.alternatives:
            if any(literal in text for literal in gate):
                yield from _compiled(pattern).finditer(text)

    def search(self, text: str) -> re.Match[str] | None:
        """The first match of the first alternative that has one."""
        for gate, pattern in self.alternatives:
            for literal in gate:
                if literal in text:
                    found = _compiled(pattern).search(text)
                    if found is not None:
                        return found
                    break
        return None


_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[\u3002\uff1b\uff01\uff1f])\s*")
_POINTS_BACK = re.compile(r"(?i)(?:this|it|that|these|they|which)\b(?! model| endpoint)")


_OPEN_ENDS = frozenset(
    {"is", "are", "was", "be", "not", "does", "by", "to", "of", "in", "on", "or", "and", "an"}
    | {"the", "for", "with", "this"}
)
_CONTINUATIONS = frozenset(
    {"is", "are", "not", "supported", "by", "for", "with", "on", "in", "of", "to", "and", "or"}
    | {"the", "this", "that"}
)


def unwrapped(lines: Iterable[str]) -> Iterator[str]:
    """The lines, stripped; one that is wrapped in the middle of a clause is joined."""
    held = ""
    for line in lines:
        stripped = line.strip()
        if held and stripped and _goes_on(held, stripped):
            held = f"{held} {stripped}"
            continue
        if held:
            yield held
        held = stripped
    if held:
        yield held


def _goes_on(before: str, line: str) -> bool:
    if not (line[0].islower() or line[0] in "'\"`"):
        return False
    ended = before[-1].isalpha() or before[-1] in "'\"`,"
    return before.rsplit(" ", 1)[-1] in _OPEN_ENDS or (
        ended and line.split(" ", 1)[0] in _CONTINUATIONS
    )


def sentences(text: str) -> Iterator[str]:
    """The sentences of a line; one that only points back ("This is …") stays with its forerunner."""
    held = ""
    for piece in _SENTENCE.split(text):
        if held and not _POINTS_BACK.match(piece):
            yield held
            held = piece
        else:
            held = f"{held} {piece}" if held else piece
    if held:
        yield held
