"""
WebSocket /v1/responses: one response at a time over one connection that remembers its own turns.

Source: the Open Responses document (2026-04-24), WebSocket mode; spec gateway "Requests".
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

import anyio
import anyio.abc

from structguard.gateway import schema_responses
from structguard.gateway.asgi import Exchange, Gone, Message
from structguard.gateway.auth import Caller
from structguard.gateway.blocks import object_of, raw_events
from structguard.gateway.conversation import Local
from structguard.gateway.core import Core
from structguard.gateway.counting import Counted
from structguard.gateway.faults import ApiError
from structguard.gateway.resource import Started, ended, new_id
from structguard.gateway.responses import ResponsesEndpoint
from structguard.gateway.turn import Served, object_in
from structguard.gateway.writing import packed
from structguard.types import Completion, as_text

LIFE = 3600.0  # seconds a connection may last
_STOPPING = (1012, "the gateway is stopping")
_WAITING = 1  # messages that may wait while a response runs; more is a client out of step
ROUTE = "/v1/responses (WebSocket)"
_DISALLOWED = ("stream_options", "background")


@dataclass(slots=True)
class Sockets:
    """Serves WebSockets; `open` are those that are."""

    core: Core
    endpoint: ResponsesEndpoint
    open: set[_Connection] = field(default_factory=set["_Connection"])
    stopping: bool = False

    async def serve(self, exchange: Exchange) -> None:
        """One connection, from its handshake to its end."""
        await exchange.receive()
        try:
            exchange.check_headers(self.core.config.limits)
            caller = self.core.caller(exchange)
            self._check_room()
        except ApiError as error:
            await reject(exchange, error)
            return
        await exchange.send({"type": "websocket.accept"})
        connection = _Connection(self, exchange, caller)
        self.open.add(connection)
        try:
            await connection.run()
        except Gone:
            pass
        finally:
            self.open.discard(connection)

    def stop(self) -> None:
        """The server is stopping: each connection ends, after the response that is under way."""
        self.stopping = True
        for connection in self.open:
            connection.end(*_STOPPING)

    def _check_room(self) -> None:
        if len(self.open) >= self.core.config.limits.sockets:
            raise ApiError(
                429,
                "too many WebSockets are open: see limits.sockets",
                "rate_limit_error",
                code="too_many_sockets",
                headers={"retry-after": "1"},
            )


async def reject(exchange: Exchange, error: ApiError) -> None:
    """A handshake that is refused, with its HTTP reply where the server can send one."""
    if "websocket.http.response" not in (exchange.scope.get("extensions") or {}):
        await exchange.send({"type": "websocket.close", "code": 1008})
        return
    headers = [(b"content-type", b"application/json")]
    headers += [(k.encode(), v.encode()) for k, v in error.headers.items()]
    start = {"type": "websocket.http.response.start", "status": error.status, "headers": headers}
    await exchange.send(start)
    await exchange.send({"type": "websocket.http.response.body", "body": error.body})


@dataclass(slots=True, eq=False)
class _Connection:
    """One client's connection; `waiting` are messages that came while a response was under way."""

    sockets: Sockets
    exchange: Exchange
    caller: Caller
    local: Local = field(default_factory=Local)
    waiting: deque[str] = field(default_factory=deque[str])
    busy: bool = False
    ending: tuple[int, str] | None = None  # with which code it closes, and why
    _group: anyio.abc.TaskGroup | None = None

    async def run(self) -> None:
        """Read messages; each is one response, the next waits for its end."""
        async with anyio.create_task_group() as group:
            self._group = group
            if self.sockets.stopping:
                self.end(*_STOPPING)
            with anyio.move_on_after(LIFE) as life:
                await self._read(group)
            if life.cancelled_caught:
                self.end(1001, "60 min")
                while await self._next() is not None:
                    pass  # nothing new begins
            group.cancel_scope.cancel()

    async def _read(self, group: anyio.abc.TaskGroup) -> None:
        while (text := await self._next()) is not None:
            if not self.busy:
                self.busy = True
                group.start_soon(self._answer_all, text)
            elif len(self.waiting) < _WAITING:
                self.waiting.append(text)
            else:
                await self._tell(
                    ApiError(409, "a response is under way", code="response_in_progress")
                )

    def end(self, code: int, reason: str) -> None:
        """End the connection, after the response that is under way."""
        self.ending = self.ending or (code, reason)
        if not self.busy and self._group is not None:
            self._group.start_soon(self._leave, *self.ending)

    async def _leave(self, code: int, reason: str) -> None:
        """Close; the client may have done so already."""
        with suppress(OSError):
            await self.exchange.send({"type": "websocket.close", "code": code, "reason": reason})

    async def _next(self) -> str | None:
        """The next message's text; None when the client is gone."""
        message: Message = await self.exchange.receive()
        if message["type"] != "websocket.receive":
            return None
        text = message.get("text")
        if isinstance(text, str):
            return text
        return bytes(message.get("bytes") or b"").decode("utf-8", "replace")

    async def _answer_all(self, text: str) -> None:
        """This message and those that came meanwhile."""
        with suppress(Gone):
            await self._answer(text)
            while self.waiting and self.ending is None:
                await self._answer(self.waiting.popleft())
        self.busy = False
        if self.ending is not None:
            await self._leave(*self.ending)

    async def _answer(self, text: str) -> None:
        counted = Counted(self.sockets.core, ROUTE, "WEBSOCKET /v1/responses")
        status, served = 499, None
        try:
            body = self._asked(text)
            served = await self._answered(body)
            status = 200
        except ApiError as error:
            status = error.status
            await self._tell(error)
        finally:
            counted.over(new_id("ws"), status, 0.0, served)

    def _asked(self, text: str) -> dict[str, object]:
        """
        The body in a message.

        Raises:
            ApiError: it is none that is answered here.
        """
        limit = self.sockets.core.config.limits.body
        if len(text) > limit:
            raise ApiError(413, f"a message is larger than {limit} bytes")
        body = object_in(text.encode("utf-8", "surrogatepass"))
        if body.pop("type", None) != "response.create":
            raise ApiError(
                400, "the only message that is accepted is response.create", param="type"
            )
        for name in _DISALLOWED:
            if body.get(name) is not None:
                raise ApiError(400, f"{name} is not allowed on a WebSocket", param=name)
        return body

    async def _answered(self, body: dict[str, object]) -> Served | None:
        generate = body.pop("generate", None)
        if not isinstance(generate, bool | None):
            raise ApiError(400, "generate must be true or false", param="generate")
        warm = generate is False
        body["stream"] = True
        try:
            return await (self._prewarm(body) if warm else self._respond(body))
        except Gone:
            raise
        except Exception as error:
            self._forget(as_text(body.get("previous_response_id")))
            core = self.sockets.core
            raise core.refusal(error, "responses", str(body.get("model") or "")) from error

    async def _respond(self, body: dict[str, object]) -> Served:
        core, endpoint = self.sockets.core, self.sockets.endpoint
        turn = core.checked(
            self.exchange, "responses", body, None, self.caller, schema_responses.fault
        )
        run = await endpoint.prepared(turn, self.caller, self.local)
        async with endpoint.streaming(run) as blocks:
            async for event in _events(blocks):
                await self._send(event)
                if event.get("type") == "response.failed":
                    self._forget(as_text(body.get("previous_response_id")))
        return turn.served

    async def _prewarm(self, body: dict[str, object]) -> None:
        """`generate: false`: the history is looked up and kept, the model is not asked."""
        core = self.sockets.core
        turn = core.checked(
            self.exchange, "responses", body, None, self.caller, schema_responses.fault
        )
        history = await core.conversations.expanded(body, self.caller.scope, self.local)
        kept = {"store": False}  # by this connection alone, whatever the client would like
        start = Started({**body, **kept}, turn.model).whole()
        resource = ended(Completion(), start, {})
        await core.conversations.keep({**history, **kept}, resource, self.caller.scope, self.local)
        told = {"created": start, "in_progress": start, "completed": resource}
        for number, (name, response) in enumerate(told.items()):
            kind = f"response.{name}"
            await self._send({"type": kind, "sequence_number": number, "response": response})

    def _forget(self, previous: str | None) -> None:
        """A failed turn evicts what it referenced: the client must say anew what it builds on."""
        if previous is not None:
            self.local.turns.pop(previous, None)

    async def _send(self, event: object) -> None:
        """
        One event.

        Raises:
            Gone: the client is.
        """
        text = packed(event).decode()
        try:
            await self.exchange.send({"type": "websocket.send", "text": text})
        except OSError as error:
            raise Gone from error

    async def _tell(self, error: ApiError) -> None:
        told = {**error.error, "code": error.code or error.type}  # here the code is required
        await self._send({"type": "error", "status": error.status, "error": told})


async def _events(blocks: AsyncIterator[bytes]) -> AsyncIterator[dict[str, object]]:
    """A response's events. An error is left to the response.failed after it: either ends a turn."""
    number: object = None
    async for block in blocks:
        for event in map(object_of, raw_events(block)):
            match event:
                case None:
                    pass
                case {"type": "error"}:
                    number = event.get("sequence_number") if number is None else number
                case {"type": "response.failed"} if number is not None:
                    yield {**event, "sequence_number": number}
                case _:
                    yield event
