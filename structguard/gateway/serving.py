"""
What both endpoints do with an answer: ask, heal, and know how it was served.

A reply that passed is raw bytes; one that was translated is a neutral completion, healed here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

from structguard.clients.growing import AnswerChanged
from structguard.clients.healing import heal
from structguard.clients.replies import calls_or_declines, text_slots
from structguard.errors import ProviderError
from structguard.flow import watch
from structguard.gateway.faults import unusable
from structguard.gateway.flowing import RawStream
from structguard.gateway.neutral import Batch, TextHealer, batches, with_text
from structguard.gateway.turn import RAW, Served, Turn
from structguard.gateway.upstream import Upstream
from structguard.gateway.upstreams import Upstreams
from structguard.gateway.whole import RawReply, is_json
from structguard.service import EventStream, Provider
from structguard.types import (
    Api,
    Completion,
    Finished,
    Format,
    StreamEvent,
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
            if isinstance(provider, Upstream):
                completion = await provider.completed(turn, model or turn.model)
            else:
                completion = await provider.complete(turn.request(model))
        except ValueError as error:
            raise turn.bad_format(error) from error
        found = completion.metadata.get(RAW)
        if isinstance(found, RawReply):
            return self._passed(turn, found)
        told = _served(completion)
        completion = _read(turn, completion, told)
        turn.answered(told)
        if self.fails(turn, completion):
            raise unusable()
        return completion

    def _passed(self, turn: Turn, raw: RawReply) -> RawReply:
        turn.answered(raw.served)
        if turn.guardable and raw.served.source is None and not _calls(raw):
            if self.unusable_fails:
                raise unusable()
            raw.served.read_in_vain()
        return raw

    def fails(self, turn: Turn, completion: Completion) -> bool:
        """Whether an answer is text without a value, and that is an error; words before calls are none."""
        return self.is_unusable(turn) and _is_answer(completion)

    def is_unusable(self, turn: Turn) -> bool:
        """Whether what was read held no value, and that is an error."""
        return self.unusable_fails and turn.guardable and turn.served.source is None

    @asynccontextmanager
    async def stream(self, turn: Turn) -> AsyncGenerator[RawStream | AsyncIterator[Batch]]:
        """
        The stream, raw or neutral, once it has begun; how it was served is in the turn.

        Raises:
            ApiError, ProviderError: what failed before the first event.
        """
        provider, model = self.upstreams.answering(turn)
        if isinstance(provider, Upstream):
            raw = await provider.opened(turn, model or turn.model)
            if raw is not None:
                raw.strict = self.unusable_fails
                turn.answered(raw.served)
                try:
                    yield raw
                finally:
                    await raw.aclose()
                return
            opening = provider.translated(turn, model or turn.model)
        else:
            opening = provider.stream(turn.request(model))
        async with self._begun(turn, provider, opening) as stream:
            yield stream

    @asynccontextmanager
    async def _begun(
        self, turn: Turn, provider: Provider, opening: EventStream
    ) -> AsyncGenerator[RawStream | AsyncIterator[Batch]]:
        with watch() as calls:
            try:
                events = await opening.__aenter__()
            except ValueError as error:
                raise turn.bad_format(error) from error
        try:
            first = await anext(events, None)
            raw = _raw_of(first)
            if raw is not None:  # a link of a chain that speaks the client's wire
                raw.strict = self.unusable_fails
                turn.answered(raw.served)
                yield raw
                await _heard(events)
            else:
                info = calls[-1] if calls else None
                name = provider.id if info is None else info.provider.partition("#")[0]
                enforced = None if info is None else info.enforced
                turn.answered(Served(name, enforced, 1 if info is None else info.requests))
                yield self._neutral(turn, batches(first, events))
        except BaseException as error:
            if not await opening.__aexit__(type(error), error, error.__traceback__):
                raise
        else:
            await opening.__aexit__(None, None, None)

    async def _neutral(self, turn: Turn, given: AsyncIterator[Batch]) -> AsyncIterator[Batch]:
        format_ = _format_of(turn)
        healer = None if format_ is None else TextHealer(format_, turn.served.enforced is False)
        async for batch in given:
            last = batch[-1]
            if isinstance(last, Finished):
                turn.served.requests = last.completion.requests
            if healer is None:
                yield batch
                continue
            healed, changed = _fed(healer, batch)
            turn.served.source = healer.source
            if isinstance(last, Finished) and _is_answer(last.completion):
                turn.served.read_in_vain()
            if healed:
                yield healed
            if changed is not None:
                raise changed


def _fed(healer: TextHealer, batch: Batch) -> tuple[Batch, AnswerChanged | None]:
    """What of a batch may be handed on, and what ends the stream behind it."""
    healed: Batch = []
    try:
        for event in batch:
            healer.feed(event, healed)
    except AnswerChanged as error:
        return healed, error
    return healed, None


async def _heard(events: AsyncIterator[StreamEvent]) -> None:
    """Let a chain's breaker hear how the stream that passed ended."""
    with suppress(ProviderError):  # the client heard of it
        await anext(events, None)


def _raw_of(event: StreamEvent | None) -> RawStream | None:
    if isinstance(event, Finished):
        raw = event.completion.metadata.get(RAW)
        return raw if isinstance(raw, RawStream) else None
    return None


def _calls(raw: RawReply) -> bool:
    """Whether a raw reply is calls or a decline rather than text, whatever it says before them."""
    api: Api = "chat" if "choices" in raw.parsed else "responses"
    return calls_or_declines(raw.parsed, api) or not any(True for _ in text_slots(raw.parsed, api))


def _format_of(turn: Turn) -> Format | None:
    return turn.asked() if turn.guardable else None


def _is_text(completion: Completion) -> bool:
    return bool(completion.text) and completion.finish != "declined"


def _is_answer(completion: Completion) -> bool:
    """Whether the text is the answer; before calls it is a remark."""
    return _is_text(completion) and not completion.tool_calls


def _read(turn: Turn, completion: Completion, told: Served) -> Completion:
    """The reply with its text healed, where JSON was asked for; how it was read is noted."""
    format_ = _format_of(turn)
    if format_ is None or not _is_text(completion):
        return completion
    made, told.source = _healed(completion, format_)
    if not completion.tool_calls:
        told.read_in_vain()
    return made


def _healed(completion: Completion, format_: Format) -> tuple[Completion, str | None]:
    degraded = completion.enforced is False
    if not degraded and is_json(completion.text):
        return completion, "json"
    cut = completion.finish == "length"
    healed = heal(completion.text, lambda: format_, degraded=degraded, cut=cut)
    return with_text(completion, healed), healed.source


def _served(completion: Completion) -> Served:
    return Served(completion.provider or "", completion.enforced, completion.requests)
