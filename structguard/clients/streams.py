"""
Streams that must end up as bare JSON: the text is held and given as growing prefixes of its value.

What is not certain yet waits; the end comes with the text's own end. Pure: events in, events out,
for SDK objects and for parsed JSON alike. A stream whose text already starts as JSON under an
accepted format passes untouched. Source: spec guard §2, row "streaming".
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from structguard.clients.carriers import carry, google_says_more, says_more, text_parts
from structguard.clients.growing import Growing
from structguard.clients.replies import get, items, put
from structguard.clients.signs import tells_a_cut
from structguard.types import Api, Format, JsonSchema

_ENDS = ("response.completed", "response.incomplete", "response.failed")


@dataclass(slots=True)
class _Held:
    """
    One text of the stream: what was held back, and an event that can carry it.

    `fresh` is what may be shown for the piece that was just held and was not handed on yet.
    """

    text: str = ""
    passing: bool = False
    growing: Growing | None = None
    fresh: str = ""
    carrier: object = None
    at: int = 0  # which of the carrier's candidates it is
    given: str | None = None

    @property
    def lacks_its_end(self) -> bool:
        """Whether its stream has said that it ends, and the value in it is not whole."""
        return self.growing is not None and self.given is None and not self.growing.is_whole


@dataclass(slots=True)
class StreamHealer:
    """
    Events of one stream on their way out.

    `degraded`: hold from the start; else only when the text does not start as JSON. `source` tells
    at the end how the value was read, None where nothing was held or nothing fits; `holds` says
    whether anything was held yet: until then every event is handed on as it came.

    Converse's binary events are nobody's to rewrite here: they pass.
    """

    api: Api
    get_format: Callable[[], Format | None]
    degraded: bool
    source: str | None = None
    holds: bool = False
    _texts: dict[object, _Held] = field(default_factory=dict[object, _Held])
    _ending: list[object] = field(
        default_factory=list[object]
    )  # the end of a value without its own

    def feed(self, event: object) -> Iterator[object]:
        """What to hand on for this event, in order."""
        if self._ending:
            if get(event, "type") == "response.content_part.done":
                self._ending.append(event)
                return
            yield from self._ended(cut=tells_a_cut(event))
        match self.api:
            case "chat":
                yield from self._chat(event)
            case "responses":
                yield from self._responses(event)
            case "messages":
                yield from self._messages(event)
            case "generate_content":
                yield from self._google(event)
            case "converse":
                yield event

    def rest(self) -> Iterator[object]:
        """
        What is still held when the stream ends or breaks: as it came, nothing is lost. A value that
        was shown in part is finished if the model finished it, else it stays the part it is.
        """
        yield from self._ended(cut=True)
        for held in self._texts.values():
            if held.given is not None or held.passing or held.growing is None:
                continue
            held.fresh = ""
            if not held.growing.shown:
                held.given = held.text
                yield carry(held.carrier, self.api, held.at, held.text)
            elif held.growing.is_whole:
                yield from self._give(held)

    def _chat(self, chunk: object) -> Iterator[object]:
        holding = showing = False
        for at, choice in enumerate(items(chunk, "choices")):
            held = self._texts.setdefault(get(choice, "index"), _Held())
            delta = get(choice, "delta")
            text = get(delta, "content")
            held.fresh = ""
            ends = bool(get(choice, "finish_reason"))
            if isinstance(text, str) and text and self._hold(held, text):
                holding, showing = True, showing or (bool(held.fresh) and not ends)
                if held.carrier is None:
                    held.carrier, held.at = copy.deepcopy(chunk), at
                put(delta, "content", None if ends else held.fresh or None)
            if ends:
                yield from self._give(held, cut=get(choice, "finish_reason") == "length")
        if showing or not holding or says_more(chunk):
            yield chunk

    def _responses(self, event: object) -> Iterator[object]:
        where = (get(event, "output_index"), get(event, "content_index"))
        kind = get(event, "type")
        if kind == "response.output_text.delta":
            held = self._texts.setdefault(where, _Held())
            if self._hold(held, str(get(event, "delta") or "")):
                held.carrier = held.carrier or copy.deepcopy(event)
                if not held.fresh:
                    return
                put(event, "delta", held.fresh)
                held.fresh = ""
        elif kind == "response.output_text.done":
            yield from self._text_done(event, self._texts.get(where))
            return
        else:
            if kind in _ENDS:  # whose text was never said to be done
                for held in self._texts.values():
                    yield from self._give(held, cut=kind == "response.incomplete")
            self._settle_parts(event, kind, where)
        yield event

    def _text_done(self, event: object, done: _Held | None) -> Iterator[object]:
        if done is not None and done.lacks_its_end:
            self._ending.append(event)
            return
        if done is not None and not done.passing:
            yield from self._give(done)
            put(event, "text", done.given)
        yield event

    def _ended(self, *, cut: bool) -> Iterator[object]:
        """The texts whose end waited for what follows: only that tells of the token limit."""
        waiting, self._ending = self._ending, []
        for event in waiting:
            where = (get(event, "output_index"), get(event, "content_index"))
            held = self._texts.get(where if self.api == "responses" else get(event, "index"))
            if held is not None and held.given is None:
                yield from self._give(held, cut=cut)
            yield from self.feed(event)  # none waits any more

    def _messages(self, event: object) -> Iterator[object]:
        kind, index = get(event, "type"), get(event, "index")
        if kind == "content_block_delta":
            text = get(get(event, "delta"), "text")
            if isinstance(text, str) and text:
                held = self._texts.setdefault(index, _Held())
                if self._hold(held, text):
                    held.carrier = held.carrier or copy.deepcopy(event)
                    if not held.fresh:
                        return
                    put(get(event, "delta"), "text", held.fresh)
                    held.fresh = ""
        elif kind == "content_block_stop" and (done := self._texts.get(index)) is not None:
            if done.lacks_its_end:
                self._ending.append(event)
                return
            yield from self._give(done)
        yield event

    def _google(self, chunk: object) -> Iterator[object]:
        holding = showing = False
        carrier = copy.deepcopy(chunk) if self.may_hold() else chunk
        for at, candidate in enumerate(items(chunk, "candidates")):
            held = self._texts.setdefault(get(candidate, "index") or 0, _Held())
            ends, left = bool(get(candidate, "finishReason")), ""
            for part in text_parts(candidate):
                if self._hold(held, str(get(part, "text"))):
                    holding, showing = True, showing or (bool(held.fresh) and not ends)
                    held.carrier, held.at = carrier, at
                    put(part, "text", "" if ends else held.fresh)
                    left += held.fresh
            if ends:
                held.fresh = left
                yield from self._give(held, cut=get(candidate, "finishReason") == "MAX_TOKENS")
        if showing or not holding or google_says_more(chunk):
            yield chunk

    def may_hold(self) -> bool:
        """Whether a text might have to wait: not once every text passes."""
        texts = self._texts.values()
        return not texts or not all(held.passing for held in texts)

    def _settle_parts(self, event: object, kind: object, where: object) -> None:
        """Later events repeat the text: they must say what was given."""
        if kind == "response.content_part.done":
            self._settle(get(event, "part"), self._texts.get(where))
        elif kind == "response.output_item.done":
            self._settle_item(get(event, "item"), get(event, "output_index"))
        else:
            for index, item in enumerate(items(get(event, "response"), "output")):
                self._settle_item(item, index)

    def _hold(self, held: _Held, text: str) -> bool:
        """Whether this piece of text must wait."""
        if held.passing:
            return False
        held.text += text
        if not self.degraded and not held.carrier and _starts_as_json(held.text, self.get_format):
            held.passing = True
            return False
        self.holds = True
        if held.growing is None:
            held.growing = Growing(self.get_format, degraded=self.degraded)
            text = held.text
        held.fresh = held.growing.feed(text)
        return True

    def _give(self, held: _Held, *, cut: bool = False) -> Iterator[object]:
        if held.growing is None or held.given is not None:
            return
        rest = held.growing.finish(cut=cut)
        self.source = self.source or rest.source
        held.given = held.growing.shown + rest.text
        if held.fresh or rest.text:
            yield carry(held.carrier, self.api, held.at, held.fresh + rest.text)

    def _settle(self, part: object, held: _Held | None) -> None:
        if held is not None and held.given is not None and get(part, "type") == "output_text":
            put(part, "text", held.given)

    def _settle_item(self, item: object, output_index: object) -> None:
        if get(item, "type") == "message":
            for index, part in enumerate(items(item, "content")):
                self._settle(part, self._texts.get((output_index, index)))


_STARTS = {"object": "{", "array": "["}


def _starts_as_json(text: str, get_format: Callable[[], Format | None]) -> bool:
    """Whether the first character is one the format's JSON starts with; white space waits."""
    start = text.lstrip()[:1]
    if not start:
        return False
    try:
        format = get_format()  # noqa: A001  the field's word
    except ValueError:  # a schema only we cannot read
        return False
    kind = format.schema.get("type") if isinstance(format, JsonSchema) else "object"
    return start in _STARTS.get(str(kind), '{["-0123456789tfn')
