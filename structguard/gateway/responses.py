"""
POST /v1/responses: whole and streamed, raw where the upstream speaks it, else written here.

Source: the Open Responses document (2026-04-24); spec gateway "Replies".
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeAlias

from structguard.gateway import schema_responses
from structguard.gateway.asgi import Exchange
from structguard.gateway.auth import Caller
from structguard.gateway.blocks import (
    DONE,
    around_resources,
    holds_resource,
    object_of,
    spoken,
    without_done,
)
from structguard.gateway.conversation import Local, check_outputs, input_items, only_messages
from structguard.gateway.core import Core
from structguard.gateway.faults import ApiError, unusable
from structguard.gateway.filling import filled, has_whole_numbers, replaced
from structguard.gateway.flowing import RawStream
from structguard.gateway.neutral import Batch
from structguard.gateway.resource import REQUIRED, Started, ended
from structguard.gateway.sequence import Sequence
from structguard.gateway.thoughts import without_seals
from structguard.gateway.turn import Turn
from structguard.gateway.whole import RawReply
from structguard.gateway.writing import packed
from structguard.types import Completion, Finished, as_mapping

Body: TypeAlias = Mapping[str, object]
_NUMBER = re.compile(rb'"sequence_number":\s*(\d+)')
_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})


@dataclass(slots=True, kw_only=True)
class Run:
    """One response on its way: the body as the client sent it, who asked, the turn upstream."""

    asked: dict[str, object]
    scope: str
    turn: Turn
    start: Started
    local: Local | None = None
    given: list[object] | None = None  # the input, where the turn's body holds less

    @property
    def keeps(self) -> bool:
        """Whether somebody may ask for it by its id, which must then be ours: see `own`."""
        return self.asked.get("store") is not False or self.local is not None

    def own(self, resource: Mapping[str, object], text: bytes | None) -> tuple[Body, bytes | None]:
        """
        The resource under our own id, and its JSON text where one was given.

        Two upstreams, or one that was started again, may both say `resp_1`: under an upstream's id
        one conversation would go on with the history of another.
        """
        named = {**resource, "id": self.start.id}
        return named, text and replaced(text, resource.get("id"), self.start.id)


@dataclass(frozen=True, slots=True)
class ResponsesEndpoint:
    """Answers responses, whole and streamed."""

    core: Core

    async def serve(self, exchange: Exchange) -> Turn:
        """
        One request, answered.

        Raises:
            ApiError: before the reply began.
        """
        turn, caller = await self.core.turn(exchange, "responses", schema_responses.fault)
        run = await self.prepared(turn, caller)

        try:
            if turn.streams:
                async with self.streaming(run) as blocks:
                    await exchange.stream(blocks, turn.served.raw_headers())
            else:
                body = await self.whole(run)
                await exchange.reply(200, body, told=turn.served.raw_headers())
        except Exception as error:  # noqa: BLE001  every error has its reply
            await exchange.fail(error, self.core.refusal(error, "responses", turn.model))
        return turn

    async def prepared(self, turn: Turn, caller: Caller, local: Local | None = None) -> Run:
        """
        The turn with its history in place.

        Raises:
            ApiError: what cannot be honoured, or history that is not known.
        """
        asked = turn.body
        if asked.get("background") is True:
            raise ApiError(400, "background responses are not supported", param="background")
        if not asked.get("input") and not asked.get("previous_response_id"):
            raise ApiError(400, "input is missing", param="input")
        given: list[object] | None = None
        if asked.get("previous_response_id") is not None or not only_messages(asked):
            passes = self.core.upstreams.speaks(turn.links, "responses")
            body = await self.core.conversations.expanded(asked, caller.scope, local, passes=passes)
            if body is not asked:
                turn.body, turn.raw = body, None
            items = input_items(body)
            turn.before = len(items) - len(input_items(asked))
            check_outputs(items)
            bare = without_seals(items, self.core.config.providers)
            if bare is not None:
                with suppress(ApiError):  # told where it is needed
                    turn.neutral()  # which holds the thoughts, while the body no longer does
                turn.body, turn.raw, given = {**body, "input": bare}, None, items
        start = Started(asked, turn.model, schema=self.core.config.guard.echo_schema)
        return Run(
            asked=asked, scope=caller.scope, turn=turn, start=start, local=local, given=given
        )

    async def whole(self, run: Run) -> bytes:
        """
        The resource.

        Raises:
            ApiError, ProviderError: there is none.
        """
        answer = await self.core.serving.whole(run.turn)
        if isinstance(answer, RawReply):
            resource: Body = answer.parsed
            text: bytes | None = answer.body
            strict = answer.strict
            if not _is_whole(resource, run):
                known = text if strict else None
                resource, text = filled(resource, run.start, known, own=run.keeps)
            elif run.keeps:
                resource, text = run.own(resource, text)
            if text is None:
                text, strict = packed(resource), True
            body, written = text, text if strict else None
        else:
            run.start.model = answer.model or run.turn.model
            resource = ended(answer, run.start.whole(), {})
            written = body = packed(resource)
        if trouble := await self._keep(run, resource, written):
            run.turn.served.warning = trouble
            body = packed({**resource, "store": False})
        return body

    @asynccontextmanager
    async def streaming(self, run: Run) -> AsyncGenerator[AsyncIterator[bytes]]:
        """
        The events as blocks of bytes, once the response has begun; with `[DONE]` at the end.

        Raises:
            ApiError, ProviderError: what failed before the first event.
        """
        async with self.core.serving.stream(run.turn) as events:
            if isinstance(events, RawStream):
                yield self._raw(run, events)
            else:
                yield self._written(run, events)

    async def _raw(self, run: Run, stream: RawStream) -> AsyncIterator[bytes]:
        """An upstream's own events; only those that hold the resource are looked at."""
        last = b""
        try:
            async for came in stream.blocks():
                if not (block := without_done(came)):
                    continue
                last = block
                yield await self._seen(run, block) if holds_resource(block) else block
        except Exception as error:  # noqa: BLE001  the status is sent: the stream tells it
            numbers = _NUMBER.findall(last)
            sequence = Sequence(run.start.whole(), int(numbers[-1]) + 1 if numbers else 0)
            yield self._broken(run, sequence, error)
            return
        yield DONE

    async def _seen(self, run: Run, block: bytes) -> bytes:
        """A block in which something of the resource is made whole, and kept at its end."""
        out: list[bytes] = []
        for raw, holds in around_resources(block):
            event = object_of(raw) if holds else None
            response = as_mapping((event or {}).get("response"))
            if event is None or response is None:
                out.append(raw)
                continue
            terminal = event.get("type") in _TERMINAL
            if terminal and run.turn.guardable:
                notes = run.turn.served.headers()
                response = {**response, "metadata": {**_metadata(response), **notes}}
            text: bytes | None = None
            if _is_whole(response, run) and response is event["response"]:
                text = raw
            else:
                response, _ = filled(response, run.start)
            if run.keeps:
                response, text = run.own(response, text)
            run.start.call(str(response["id"]))
            if terminal and await self._keep(run, response):
                response, text = {**response, "store": False}, None
            out.append(text or spoken({**event, "response": response}, "responses"))
        return b"".join(out)

    async def _written(self, run: Run, events: AsyncIterator[Batch]) -> AsyncIterator[bytes]:
        sequence = Sequence(run.start.whole())
        begun = _speak(sequence.begin())
        try:
            async for batch in events:
                last = batch[-1]
                told = begun + sequence.told(batch[:-1] if isinstance(last, Finished) else batch)
                begun = b""
                if told:
                    yield told
                if isinstance(last, Finished):
                    yield _speak(await self._ended(run, sequence, last.completion)) + DONE
        except Exception as error:  # noqa: BLE001  the status is sent: the stream tells it
            yield begun + self._broken(run, sequence, error)

    async def _ended(
        self, run: Run, sequence: Sequence, completion: Completion
    ) -> list[dict[str, object]]:
        """The last events; the response is kept before the client hears of its end."""
        if self.core.serving.fails(run.turn, completion):
            raise unusable()
        told = run.turn.served.headers() if run.turn.guardable else {}
        end = [*sequence.finish(completion, told)]
        resource = sequence.resource or {}
        if await self._keep(run, resource):
            resource["store"] = False
        return end

    def _broken(self, run: Run, sequence: Sequence, error: Exception) -> bytes:
        fault = self.core.broken(error, run.turn)
        events = sequence.fail(fault.code or fault.type, fault.message, fault.type)
        return _speak(events) + DONE

    async def _keep(
        self, run: Run, resource: Mapping[str, object], text: bytes | None = None
    ) -> str:
        """Store what did not fail; what went wrong, if anything."""
        if resource.get("status") == "failed":
            return ""
        body: Mapping[str, object] = run.asked
        if run.turn.body is not body:
            body = {**body, "input": run.given or run.turn.body.get("input")}
        return await self.core.conversations.keep(body, resource, run.scope, run.local, text)


def _speak(events: Iterable[dict[str, object]]) -> bytes:
    return b"".join(spoken(event, "responses") for event in events)


def _metadata(response: Mapping[str, object]) -> Mapping[str, object]:
    return as_mapping(response.get("metadata")) or {}


def _is_whole(response: Mapping[str, object], run: Run) -> bool:
    """Whether an upstream's resource can go out as it came."""
    return (
        response.keys() >= REQUIRED
        and has_whole_numbers(response)
        and run.asked.get("previous_response_id") == response["previous_response_id"]
    )
