"""
Harmony channels (gpt-oss): the last `final` message is the answer, `analysis` never is.

A header inside a string of strict JSON is content: what a model quotes must not choose the answer.
Source: spec parse, step 5; the harmony response format.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from structguard.reading.brackets import Brackets
from structguard.reading.strict import strict_json

_HEADER = re.compile(
    r"<\|channel\|>\s*(?P<channel>[a-z]+)[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
    r"|<\|start\|>\w+<\|message\|>"
)
_MESSAGE_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_OPENER = re.compile(r"[{\[]")
# Servers that strip the tokens leave the words: analysisWe need…assistantfinal{…}
_STRIPPED = re.compile(r"\s*(?:assistant)?(?:analysis|commentary)(?=[A-Z\"'])")
_STRIPPED_FINAL = re.compile(
    r"assistant\s{0,3}(?:final|commentary(?: to=[\w.]{1,80})?)\s{0,3}(?:json|code)?"
)
_TRIES: Final = 20  # strict reads that may fail; each is linear


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the answer that is looked at, as character offsets."""

    start: int
    end: int


def regions(text: str) -> tuple[list[Region], bool]:
    """
    What of an answer may hold the value, and whether reasoning channels were left out.

    Without harmony channels it is all of it; with them the last `final` message, or where there is
    none whatever is not `analysis`.
    """
    if "<|channel|>" not in text:
        return _stripped(text)
    finals: list[Region] = []
    others: list[Region] = []
    reasoned = False
    for channel, region in _messages(text):
        if channel == "final":
            finals.append(region)
        elif channel == "analysis":
            reasoned = True
        else:
            others.append(region)
    return finals[-1:] or others, reasoned


def _stripped(text: str) -> tuple[list[Region], bool]:
    """As `regions`, for an answer without tokens: behind the last header, if it opens as analysis."""
    if _STRIPPED.match(text) is None:
        return [Region(0, len(text))], False
    last = [found.end() for found in _STRIPPED_FINAL.finditer(text)][-1:]
    return [Region(start, len(text)) for start in last], True


def _messages(text: str) -> Iterator[tuple[str, Region]]:
    """The messages of a harmony answer, the text before the first header among them."""
    values = list(_values(text))
    position, channel = 0, ""
    while True:
        header = _outside(_HEADER, text, position, values)
        ended = _outside(_MESSAGE_END, text, position, values)
        stop = min(m.start() for m in (header, ended) if m) if header or ended else len(text)
        if text[position:stop].strip():
            yield channel, Region(position, stop)
        if header is None:
            return
        position, channel = header.end(), header.group("channel") or ""


def _values(text: str) -> Iterator[Region]:
    """The values of strict JSON that hold what looks like a token."""
    brackets = Brackets(text)
    position, tries = 0, 0
    while tries < _TRIES and (token := text.find("<|", position)) >= 0:
        start, position = position, token + 2
        for opener in _OPENER.finditer(text, start, token):
            end = brackets.end_of(opener.start(), len(text))
            if end <= token:
                continue
            if strict_json(text[opener.start() : end]):
                yield Region(opener.start(), end)
                position = end
                break
            tries += 1
            if tries == _TRIES:
                return


def _outside(
    pattern: re.Pattern[str], text: str, position: int, values: list[Region]
) -> re.Match[str] | None:
    """The first match at or after a position that is inside none of the values."""
    while (found := pattern.search(text, position)) is not None:
        before = bisect_right(values, found.start(), key=lambda value: value.start)
        if before == 0 or values[before - 1].end <= found.start():
            break
        position = values[before - 1].end
    return found
