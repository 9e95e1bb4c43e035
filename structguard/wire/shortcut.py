"""
Text events by their bytes: most events of a stream differ from the one before in their text alone.

What an event read the long way looked like around its text is kept. An event with the same bytes
there (and, where events are numbered, any number) differs in that one JSON string, so that string is
all that has to be read; everything else goes the long way, which is also what learns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import jiter

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)  # one JSON string, to its own end
_TRIES = 8  # shapes learnt in vain (padding, a clock in every event) before it is left alone


class Shortcut:
    """
    The shape of one stream's text events.

    `key` is what stands before the text's string, the quote included; `number` what stands before the
    event's number, empty where there is none. `plain` gives the list to which an event that was just
    taken has added its text, None if it did anything else.
    """

    __slots__ = ("_head", "_key", "_middle", "_name", "_number", "_pieces", "_plain", "_tail",
                 "_tries")  # fmt: skip

    def __init__(
        self,
        key: bytes,
        plain: Callable[[Mapping[str, object]], list[str] | None],
        number: bytes = b"",
    ) -> None:
        self._key = key
        self._plain = plain
        self._number = number
        self._pieces: list[str] | None = None
        self._name = ""
        self._head = self._middle = self._tail = b""
        self._tries = _TRIES

    def take(self, name: str, data: bytes) -> str | None:
        """The event's text, added to where such texts go; None: it has to go the long way."""
        pieces, head, tail = self._pieces, self._head, self._tail
        if (
            pieces is None
            or not data.startswith(head)
            or not data.endswith(tail)
            or name != self._name
        ):
            return None
        at = len(head)
        if self._middle:
            found = data.find(self._middle, at)
            if not data[at:found].isdigit():
                return None
            at = found + len(self._middle)
        try:
            text: object = jiter.from_json(data[at : len(data) - len(tail)])
        except ValueError:  # more than one string, or none
            return None
        if not isinstance(text, str) or not text:
            return None
        pieces.append(text)
        return text

    def learn(self, name: str, data: bytes, event: Mapping[str, object]) -> None:
        """An event went the long way: if it was nothing but text, such events look like it."""
        pieces = self._plain(event) if self._tries else None
        if pieces is None:
            return
        self._tries -= 1
        self._pieces = None
        start = data.find(self._key) + len(self._key) - 1
        string = _STRING.match(data, start) if data.count(self._key) == 1 else None
        if string is None or jiter.from_json(string[0]) != pieces[-1]:
            return
        head, middle = data[:start], b""
        if self._number:
            before, found, rest = head.partition(self._number)
            digits = len(rest) - len(rest.lstrip(b"0123456789"))
            if not found or not digits:
                return
            head, middle = before + found, rest[digits:]
        self._name, self._pieces = name, pieces
        self._head, self._middle, self._tail = head, middle, data[string.end() :]
