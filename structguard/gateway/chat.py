"""
POST /v1/chat/completions: the older endpoint, on the same core. Removable: nothing imports it.

Source: spec gateway "Endpoints and switches".
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from structguard.gateway import schema_chat
from structguard.gateway.asgi import Exchange
from structguard.gateway.blocks import DONE, spoken
from structguard.gateway.chunks import Chunks
from structguard.gateway.core import Core
from structguard.gateway.faults import unusable
from structguard.gateway.flowing import RawStream
from structguard.gateway.neutral import Batch
from structguard.gateway.resource import new_id, now
from structguard.gateway.turn import Turn
from structguard.gateway.whole import RawReply
from structguard.gateway.writing import packed
from structguard.types import Finished, as_mapping
from structguard.wire.chat import encode_reply


@dataclass(frozen=True, slots=True)
class ChatEndpoint:
    """Answers chat completions, whole and streamed."""

    core: Core

    async def serve(self, exchange: Exchange) -> Turn:
        """
        One request, answered.

        Raises:
            ApiError: before the reply began.
        """
        turn, _ = await self.core.turn(exchange, "chat", schema_chat.fault)

        try:
            await (self._stream if turn.streams else self._whole)(exchange, turn)
        except Exception as error:  # noqa: BLE001  every error has its reply
            await exchange.fail(error, self.core.refusal(error, "chat", turn.model))
        return turn

    async def _whole(self, exchange: Exchange, turn: Turn) -> None:
        answer = await self.core.serving.whole(turn)
        if isinstance(answer, RawReply):
            body = answer.body
        else:
            model = answer.model or turn.model
            reply = encode_reply(answer, id=new_id("chatcmpl"), model=model, created=now())
            body = packed(reply)
        await exchange.reply(200, body, told=turn.served.raw_headers())

    async def _stream(self, exchange: Exchange, turn: Turn) -> None:
        async with self.core.serving.stream(turn) as events:
            told = turn.served.raw_headers()
            blocks = (
                self._raw(turn, events)
                if isinstance(events, RawStream)
                else self._chunks(turn, events)
            )
            await exchange.stream(blocks, told)

    async def _raw(self, turn: Turn, stream: RawStream) -> AsyncIterator[bytes]:
        try:
            async for block in stream.blocks():
                yield block
        except Exception as error:  # noqa: BLE001  the status is sent: the stream tells it
            yield self._broken(turn, error)
            return
        if not stream.is_done:
            yield DONE

    async def _chunks(self, turn: Turn, events: AsyncIterator[Batch]) -> AsyncIterator[bytes]:
        options = as_mapping(turn.body.get("stream_options")) or {}
        wants_usage = options.get("include_usage") is True
        chunks = Chunks(new_id("chatcmpl"), turn.model, now(), wants_usage)
        begun = spoken(chunks.begin(), "chat")
        try:
            async for batch in events:
                last = batch[-1]
                told = begun + chunks.told(batch[:-1] if isinstance(last, Finished) else batch)
                begun = b""
                if told:
                    yield told
                if isinstance(last, Finished):
                    if self.core.serving.fails(turn, last.completion):
                        raise unusable()  # noqa: TRY301
                    end = chunks.finish(last.completion, turn.served.headers())
                    yield b"".join(spoken(chunk, "chat") for chunk in end) + DONE
        except Exception as error:  # noqa: BLE001  the status is sent: the stream tells it
            yield begun + self._broken(turn, error)

    def _broken(self, turn: Turn, error: Exception) -> bytes:
        return b"data: " + self.core.broken(error, turn).body + b"\n\n"
