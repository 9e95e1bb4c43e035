"""
WebSocket /v1/responses: one response at a time over one connection that remembers its own turns.

Source: the Open Responses document (2026-04-24), WebSocket mode; spec gateway "Requests".
"""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio
import orjson

from structguard.gateway import schema_responses
from structguard.gateway.asgi import Exchange, Message
from structguard.gateway.auth import Caller
from structguard.gateway.blocks import object_of, raw_events
from structguard.gateway.conversation import Local
from structguard.gateway.core import Core
from structguard.gateway.faults import ApiError
from structguard.gateway.resource import begun, echo, ended, new_id, now
from structguard.gateway.responses import ResponsesEndpoint
from structguard.gateway.turn import object_in
from structguard.types import Completion, as_text

LIFE = 3600.0  # seconds a connection may last
_WAITING = 1  # messages that may wait while a response runs; more is a client out of step
_DISALLOWED = ("stream_options", "background")


@dataclass(slots=True)
class Sockets:
    """Serves WebSockets; `open` counts them."""

    core: Core
    endpoint: ResponsesEndpoint
    open: int = 0

    async def serve(self, exchange: Exchange) -> None:
        """One connection, from its handshake to its end."""
        await exchange.receive()
        try:
            exchange.check_headers(self.core.config.limits)
            caller = self.core.caller(exchange)
            self._check_room()
        except ApiError as error:
            await _reject(exchange, error)
            return
        await exchange.send({"type": "websocket.accept"})
        self.open += 1
        try:
            with anyio.move_on_after(LIFE) as life:
                await _Connection(self, exchange, caller).run()
            if life.cancelled_caught:
                await exchange.send({"type": "websocket.close", "code": 1001, "reason": "60 min"})
        finally:
            self.open -= 1

    def _check_room(self) -> None:
        if self.open >= self.core.config.limits.sockets:
            raise ApiError(429, "as many WebSockets are open as may be", "rate_limit_error")


async def _reject(exchange: Exchange, error: ApiError) -> None:
    """A handshake that is refused, with its HTTP reply where the server can send one."""
    if "websocket.http.response" not in (exchange.scope.get("extensions") or {}):
        await exchange.send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-type", b"application/json")]
    headers += [(k.encode(), v.encode()) for k, v in error.headers.items()]
    start = {"type": "websocket.http.response.start", "status": error.status, "headers": headers}
    await exchange.send(start)
    await exchange.send({"type": "websocket.http.response.body", "body": error.body})


@dataclass(slots=True)
class _Connection:
    """One client's connection."""

    sockets: Sockets
    exchange: Exchange
    caller: Caller
    local: Local = field(default_factory=Local)

    async def run(self) -> None:
        """Read messages; each is one response, the next waits for its end."""
        send, receive = anyio.create_memory_object_stream[str](_WAITING)
        async with anyio.create_task_group() as group, send, receive:
            group.start_soon(self._answer_all, receive)
            while (text := await self._next()) is not None:
                try:
                    send.send_nowait(text)
                except anyio.WouldBlock:
                    await self._tell(
                        ApiError(409, "a response is under way", code="response_in_progress")
                    )
            group.cancel_scope.cancel()

    async def _next(self) -> str | None:
        """The next message's text; None when the client is gone."""
        message: Message = await self.exchange.receive()
        if message["type"] != "websocket.receive":
            return None
        text = message.get("text")
        if isinstance(text, str):
            return text
        return bytes(message.get("bytes") or b"").decode("utf-8", "replace")

    async def _answer_all(self, receive: anyio.abc.ObjectReceiveStream[str]) -> None:
        async for text in receive:
            try:
                await self._answer(text)
            except ApiError as error:
                await self._tell(error)

    async def _answer(self, text: str) -> None:
        core = self.sockets.core
        if len(text) > core.config.limits.body:
            raise ApiError(413, f"a message is larger than {core.config.limits.body} bytes")
        body = object_in(text.encode("utf-8", "surrogatepass"))
        if body.pop("type", None) != "response.create":
            raise ApiError(400, "the only message is response.create", param="type")
        for name in _DISALLOWED:
            if body.get(name) is not None:
                raise ApiError(400, f"{name} has no place on a WebSocket", param=name)
        warm = body.pop("generate", True) is False
        body["stream"] = True
        previous = as_text(body.get("previous_response_id"))
        try:
            if warm:
                await self._prewarm(body)
            else:
                await self._respond(body)
        except Exception as error:
            self._forget(previous)
            fault = core.refusal(error, "responses", str(body.get("model") or ""))
            raise fault from error

    async def _respond(self, body: dict[str, object]) -> None:
        core, endpoint = self.sockets.core, self.sockets.endpoint
        core.busy += 1
        try:
            turn = core.checked(
                self.exchange, "responses", body, None, self.caller, schema_responses.fault
            )
            run = await endpoint.prepared(turn, self.caller, self.local)
            async with endpoint.streaming(run) as (blocks, _):
                async for block in blocks:
                    for event in map(object_of, raw_events(block)):
                        if event is not None:
                            await self._send(event)
                            if event.get("type") == "response.failed":
                                self._forget(as_text(body.get("previous_response_id")))
        finally:
            core.busy -= 1

    async def _prewarm(self, body: dict[str, object]) -> None:
        """`generate: false`: the history is looked up and kept, the model is not asked."""
        core = self.sockets.core
        turn = core.checked(
            self.exchange, "responses", body, None, self.caller, schema_responses.fault
        )
        history = await core.conversations.expanded(body, self.caller.scope, self.local)
        start = begun(new_id(), turn.model, now(), echo(body))
        resource = ended(Completion(), start, {})
        await core.conversations.keep(
            {**history, "store": False}, resource, self.caller.scope, self.local
        )
        await self._send({"type": "response.created", "sequence_number": 0, "response": start})
        done = {"type": "response.completed", "sequence_number": 1, "response": resource}
        await self._send(done)

    def _forget(self, previous: str | None) -> None:
        """A failed turn evicts what it referenced: the client must say anew what it builds on."""
        if previous is not None:
            self.local.turns.pop(previous, None)

    async def _send(self, event: object) -> None:
        await self.exchange.send({"type": "websocket.send", "text": orjson.dumps(event).decode()})

    async def _tell(self, error: ApiError) -> None:
        told = {**error.error, "code": error.code or error.type}  # here the code is required
        await self._send({"type": "error", "status": error.status, "error": told})
