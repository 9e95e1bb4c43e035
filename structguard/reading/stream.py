"""
PartialParser: an answer read while it streams.

Before the end only what is certain is shown: the value that opens the answer, its code fence, or
the part after the reasoning. The final value comes from all of parse's steps over the whole text.
Source: spec parse, "Streams".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial as partial_of
from typing import Final

from structguard.reading.growing import Growing
from structguard.reading.marks import REASONING_CLOSE, next_event
from structguard.reading.parser import LIMIT, parse
from structguard.reading.said import calls_aside, lead_of
from structguard.reading.target import Target
from structguard.reading.values import Parsed

_AT_ONCE: Final = 4096  # characters up to which every change is shown
_STEP: Final = 256  # later a snapshot is made when the text has grown by one part in so many
_HOLD: Final = 64  # characters a tag may need to be recognised
_FINAL = re.compile(r"<\|channel\|>\s*final[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>")
_BEFORE = re.compile(r"(?:\A|[\n:>`])[ \t]*\Z")


class PartialParser:
    """
    Parse a stream: `feed` it the deltas in order, then `close` it once.

    `feed` returns a snapshot if there is something new to show, otherwise None. Snapshots are plain
    JSON. A later one only adds to an earlier one and shares its completed parts, so do not modify
    them. They are a preview; only the value that `close` returns has gone through all of `parse`'s
    steps. A whole stream takes linear time: beyond 4 KB, a snapshot is made whenever the text has
    grown by 1/256. The arguments are those of `parse`.
    """

    def __init__(
        self,
        schema: object = None,
        *,
        reader: Callable[[str], object] | None = None,
        coerce: bool = False,
        partial: bool = False,
        markup: bool = False,
        latex: bool = False,
        limit: int = LIMIT,
    ) -> None:
        self._target = Target.of(schema)
        self._finish = partial_of(
            parse, schema=schema, reader=reader, coerce=coerce, partial=partial, markup=markup,
            latex=latex, limit=limit,
        )  # fmt: skip
        self._limit = limit
        self._pieces: list[str] = []
        self._length = 0
        self._waiting = ""  # text before the value, as far as it is not judged
        self._passed = ""  # the end of what was judged
        self._until: re.Pattern[str] | None = None  # what ends the part that is not the answer
        self._growing: Growing | None = None
        self._ended = False  # the shown value is complete, or showing has stopped
        self._shown: object = None
        self._shown_at = 0
        self._result: Parsed | None = None

    def feed(self, delta: str) -> object | None:
        """
        Take the next piece of text and return the value so far, or None if there is nothing new.

        Raises:
            ValueError: The stream is closed.
        """
        if self._result is not None:
            raise ValueError("the stream is closed: feed() cannot be called any more")
        self._pieces.append(delta)
        self._length += len(delta)
        if self._ended or self._length > self._limit:
            return None
        if self._growing is None:
            delta = self._seek(delta)
        if self._growing is None:
            return None
        self._growing.feed(delta)
        self._ended = self._growing.done
        return self._show(self._growing)

    def _show(self, growing: Growing) -> object | None:
        """A snapshot, when there is more to see and it is time for one."""
        if growing.state == "stopped":
            return None
        since = self._length - self._shown_at
        if not self._ended and self._length > _AT_ONCE and since * _STEP < self._length:
            return None
        value = growing.snapshot()
        self._shown_at = self._length
        if self._shown is not None and value == self._shown:
            return None
        self._shown = value
        return value

    def _seek(self, piece: str) -> str:
        """Look for the beginning of the value; what of the text belongs to it."""
        text = self._waiting + piece
        position = 0
        while self._growing is None and not self._ended:
            after = self._step(text, position)
            if after is None:
                break
            position = after
        if self._growing is None:
            position = max(position, len(text) - _HOLD)
        self._passed = (self._passed + text[:position])[-_HOLD:]
        self._waiting = "" if self._growing else text[position:]
        return text[position:]

    def _step(self, text: str, position: int) -> int | None:
        """Pass one mark; the position behind it, or None when more text is needed."""
        if self._until is not None:
            found = self._until.search(text, position)
            if found is None:
                return None
            self._until = None
            return found.end()
        event = next_event(text, position, len(text))
        if event is None:
            return None
        match event.kind:
            case "opener":
                return self._open(text, position, event.start)
            case "reasoning":
                self._until = REASONING_CLOSE
            case "separator" if text.startswith("<|channel|>", event.start):
                self._until = _FINAL
                return event.start
            case _:
                pass
        return None if event.end == len(text) else event.end

    def _open(self, text: str, position: int, at: int) -> int | None:
        """A bracket: it opens the answer at the start, on its own line or after a fence."""
        following = text[at + 1 : at + 2]
        if text[at] == "[" and not following:
            return None
        if text[at] == "[" and (following.isupper() or following == "/"):
            return at + 1  # a tag such as [TOOL_CALLS]
        wanted = "object" if text[at] == "{" else "array"
        types = self._target.types if self._target is not None else None
        before = self._passed + text[max(position - _HOLD, 0) : at]
        stands_out = _BEFORE.search(before)
        if (
            stands_out is None
            or (types is not None and wanted not in types)
            or calls_aside(lead_of(before, len(before), 0))
        ):
            self._ended = True  # what follows may stand inside of it
        else:
            self._growing = Growing(self._target)
        return at

    def close(self) -> Parsed:
        """
        The end of the stream: the value of the whole text by all of parse's steps.

        Raises:
            ParseError: as `parse`.
        """
        if self._result is None:
            self._result = self._finish("".join(self._pieces))
        return self._result
