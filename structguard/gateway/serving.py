"""
What both endpoints do with an answer: ask, heal, and know how it was served.

A reply that passed is raw bytes; one that was translated is a neutral completion, healed here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from structguard.clients.healing import Healed, heal
from structguard.clients.replies import text_slots
from structguard.flow import watch
from structguard.gateway.faults import unusable
from structguard.gateway.flowing import RawStream
from structguard.gateway.turn import RAW, Served, Turn
from structguard.gateway.upstreams import Upstream, Upstreams
from structguard.gateway.whole import RawReply
from structguard.types import (
    Api,
    Completion,
    Finished,
    Format,
    JsonObject,
    JsonSchema,
    StreamEvent,
    TextDelta,
)

Answer: TypeAlias = RawReply | Completion


@dataclass(frozen=True, slots=True)
class Serving:
    """Asks upstreams for a turn; `unusable_fails`: a reply without a value is an error."""

    upstreams: Upstreams
    unusable_fails: bool = False

    async def whole(self, turn: Turn) -> Answer:
        """
        The reply, raw or neutral; how it was served is in the turn.

        Raises:
            ApiError, ProviderError: there is none.
        """
        provider, model = self.upstreams.answering(turn)
        if isinstance(provider, Upstream):
            raw = await provider.raw(turn, model or turn.model)
            if raw is not None:
                return self._passed(turn, raw)
        try:
            completion = await provider.complete(turn.request(model))
        except ValueError as error:
            raise turn.bad_format(error) from error
        found = completion.metadata.get(RAW)
        if isinstance(found, RawReply):
            return self._passed(turn, found)
        told = _served(completion)
        format_ = _format_of(turn)
        if format_ is not None and _is_text(completion):
            degraded = completion.enforced is False
            healed = heal(completion.text, lambda: format_, degraded=degraded)
            completion = _with_text(completion, healed)
            told.source = healed.source
        turn.answered(told)
        if self.is_unusable(turn) and _is_text(completion):
            raise unusable()
        return completion

    def _passed(self, turn: Turn, raw: RawReply) -> RawReply:
        turn.answered(raw.served)
        if self.is_unusable(turn) and not _calls(raw):
            raise unusable()
        return raw

    def is_unusable(self, turn: Turn) -> bool:
        """Whether what was read held no value, and that is an error."""
        return self.unusable_fails and turn.guardable and turn.served.source is None

    @asynccontextmanager
    async def stream(self, turn: Turn) -> AsyncGenerator[RawStream | AsyncIterator[StreamEvent]]:
        """
        The stream, raw or neutral, once it has begun.

        Raises:
            ApiError, ProviderError: what failed before the first event.
        """
        provider, model = self.upstreams.answering(turn)
        opening = provider.stream(turn.request(model))
        with watch() as calls:
            try:
                events = await opening.__aenter__()
            except ValueError as error:
                raise turn.bad_format(error) from error
        try:
            first = await anext(events, None)
            raw = _raw_of(first)
            if raw is not None:
                turn.answered(raw.served)
                yield raw
            else:
                info = calls[-1] if calls else None
                name = provider.id if info is None else info.provider.partition("#")[0]
                enforced = None if info is None else info.enforced
                turn.answered(Served(name, enforced, 1 if info is None else info.requests))
                yield self._neutral(turn, first, events)
        except BaseException as error:
            if not await opening.__aexit__(type(error), error, error.__traceback__):
                raise
        else:
            await opening.__aexit__(None, None, None)

    async def _neutral(
        self, turn: Turn, first: StreamEvent | None, rest: AsyncIterator[StreamEvent]
    ) -> AsyncIterator[StreamEvent]:
        format_ = _format_of(turn)
        healer = None if format_ is None else TextHealer(format_, turn.served.enforced is False)
        async for event in _chained(first, rest):
            if healer is not None:
                for one in healer.feed(event):
                    yield one
                turn.served.source = healer.source
            else:
                yield event
            if isinstance(event, Finished):
                turn.served.requests = event.completion.requests


async def _chained(
    first: StreamEvent | None, rest: AsyncIterator[StreamEvent]
) -> AsyncIterator[StreamEvent]:
    if first is not None:
        yield first
    async for event in rest:
        yield event


class TextHealer:
    """The text of a neutral stream under a format: passing while it is JSON, else held and healed."""

    def __init__(self, format: Format, degraded: bool) -> None:  # noqa: A002, FBT001
        self._format = format
        self._degraded = degraded
        self._held: list[str] = []
        self._passing = False
        self.source: str | None = None

    def feed(self, event: StreamEvent) -> list[StreamEvent]:
        """What to hand on for this event."""
        if isinstance(event, TextDelta) and not self._passing:
            self._held.append(event.text)
            if self._degraded or not _starts(self._held, self._format):
                return []
            self._passing, text = True, "".join(self._held)
            self.source = "json"
            return [TextDelta(text)]
        if isinstance(event, Finished) and not self._passing:
            return self._finished(event.completion)
        return [event]

    def _finished(self, completion: Completion) -> list[StreamEvent]:
        text = "".join(self._held) or completion.text
        if not text or completion.finish == "declined":
            return [Finished(completion)]
        healed = heal(text, lambda: self._format, degraded=self._degraded)
        self.source = healed.source
        return [TextDelta(healed.text), Finished(_with_text(completion, healed))]


_STARTS = {"object": "{", "array": "["}


def _starts(held: list[str], format_: Format) -> bool:
    text = "".join(held).lstrip()
    if not text:
        return False
    kind = "object" if isinstance(format_, JsonObject) else format_.schema.get("type")
    return text[0] in _STARTS.get(str(kind), '{["-0123456789tfn')


def _raw_of(event: StreamEvent | None) -> RawStream | None:
    if isinstance(event, Finished):
        raw = event.completion.metadata.get(RAW)
        return raw if isinstance(raw, RawStream) else None
    return None


def _calls(raw: RawReply) -> bool:
    """Whether a raw reply is calls or a decline rather than text."""
    api: Api = "chat" if "choices" in raw.parsed else "responses"
    return not any(True for _ in text_slots(raw.parsed, api))


def _format_of(turn: Turn) -> Format | None:
    if not turn.guardable:
        return None
    given = turn.neutral().response_format
    return given if isinstance(given, JsonSchema | JsonObject) else None


def _is_text(completion: Completion) -> bool:
    return bool(completion.text) and completion.finish != "declined"


def _with_text(completion: Completion, healed: Healed) -> Completion:
    if healed.text == completion.text:
        return completion
    return replace(completion, text=healed.text)


def _served(completion: Completion) -> Served:
    return Served(completion.provider or "", completion.enforced, completion.requests)
