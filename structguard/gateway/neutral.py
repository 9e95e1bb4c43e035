"""
Neutral stream events on their way to a client: together what came together, their text healed.

Source: spec gateway "Replies", rows "Stream" and "Healing".
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import TypeAlias, cast

from structguard.clients.growing import Growing
from structguard.clients.healing import Healed, heal
from structguard.types import (
    Completion,
    Finished,
    Format,
    JsonObject,
    StreamEvent,
    TextDelta,
    ToolCalled,
)

Batch: TypeAlias = list[StreamEvent]
"""Events that are there at once; never empty."""


async def batches(
    first: StreamEvent | None, rest: AsyncIterator[StreamEvent]
) -> AsyncIterator[Batch]:
    """
    The events in batches, where their source tells what waits (`waiting`), else one by one.

    Texts that came together and follow each other are one text: a client that cannot keep up with an
    upstream's tokens, or a gateway under load, gains nothing by hearing of them one by one.
    """
    waiting = cast("Callable[[], Batch] | None", getattr(rest, "waiting", None))
    if first is not None:
        yield [first] if waiting is None else joined([first, *waiting()])
    async for event in rest:
        yield [event] if waiting is None else joined([event, *waiting()])


def joined(batch: Batch) -> Batch:
    """The same events, neighbouring texts in one."""
    if len(batch) == 1:
        return batch
    made: Batch = []
    texts: list[str] = []
    for event in batch:
        if isinstance(event, TextDelta):
            texts.append(event.text)
            continue
        if texts:
            made.append(TextDelta("".join(texts)))
            texts.clear()
        made.append(event)
    if texts:
        made.append(TextDelta("".join(texts)))
    return made


class TextHealer:
    """
    The text of a stream under a format: passing while it is JSON, else held, and shown as it grows.

    `source` says how the value was read, once that is known.
    """

    def __init__(self, format: Format, degraded: bool) -> None:  # noqa: A002, FBT001
        self._format = format
        self._degraded = degraded
        self._held = ""
        self._growing: Growing | None = None
        self._passing = False
        self.source: str | None = None

    def feed(self, event: StreamEvent, out: Batch) -> None:
        """
        Put what may be handed on for this event into `out`.

        Raises:
            AnswerChanged: what was shown is not the answer.
        """
        if self._passing:
            out.append(event)
        elif isinstance(event, TextDelta):
            shown = self._shown(event.text)
            if shown:
                out.append(TextDelta(shown))
        elif isinstance(event, Finished):
            self._finish(event.completion, out)
        else:
            if isinstance(event, ToolCalled):  # a text stands before the calls of its turn
                self._settle(out)
            out.append(event)

    def _shown(self, text: str) -> str:
        """What of the text may be shown after this piece of it; nothing while nothing is certain."""
        if self._growing is None:
            self._held += text
            if not self._degraded and _starts(self._held, self._format):
                self._passing, self.source = True, "json"
                return self._held
            if not self._held.strip():
                return ""
            self._growing = Growing(lambda: self._format, degraded=self._degraded)
            text = self._held
        return self._growing.feed(text)

    def _finish(self, completion: Completion, out: Batch) -> None:
        """The rest of the text, and the reply with all of it."""
        if completion.finish == "declined" or not (self._held or completion.text):
            out.append(Finished(completion))
            return
        healed = self._ended(completion.text, out, cut=completion.finish == "length")
        out.append(Finished(with_text(completion, healed)))

    def _settle(self, out: Batch) -> None:
        """The text that was held is whole: what follows it is none of the answer."""
        if self._held:
            self._ended(self._held, out)
            self._passing = True

    def _ended(self, text: str, out: Batch, *, cut: bool = False) -> Healed:
        """The text as it is read at its end; what of it was not shown yet goes out."""
        if self._growing is None:
            healed = heal(text, lambda: self._format, degraded=self._degraded, cut=cut)
            rest = healed.text
        else:
            shown, found = self._growing.shown, self._growing.finish(cut=cut)
            rest, healed = found.text, Healed(shown + found.text, found.source)
        self.source = healed.source
        if rest:
            out.append(TextDelta(rest))
        return healed


_STARTS = {"object": "{", "array": "["}


def _starts(held: str, format_: Format) -> bool:
    """Whether a text starts as the format's JSON does."""
    start = held.lstrip()[:1]
    kind = "object" if isinstance(format_, JsonObject) else format_.schema.get("type")
    return bool(start) and start in _STARTS.get(str(kind), '{["-0123456789tfn')


def with_text(completion: Completion, healed: Healed) -> Completion:
    """The reply with its text healed."""
    if healed.text == completion.text:
        return completion
    return replace(completion, text=healed.text)
