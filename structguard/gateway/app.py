"""
The app: hot endpoints as plain ASGI, everything else through Starlette.

Source: spec gateway "Speed bar", "Requests" (order of checks).
"""

from __future__ import annotations

import asyncio  # noqa: TID251  the server's tasks are asyncio's
import gc
import logging
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import anyio.abc

from structguard.errors import MissingExtra
from structguard.events import Event
from structguard.gateway.asgi import EXCHANGE, Exchange, Gone, Receive, Scope, SendMessage
from structguard.gateway.auth import Auth, Token
from structguard.gateway.config import AuthConfig, Config, LimitsConfig
from structguard.gateway.conversation import Conversations
from structguard.gateway.core import Core
from structguard.gateway.cors import Cors
from structguard.gateway.counting import Counted, route_of
from structguard.gateway.faults import ApiError
from structguard.gateway.metrics import Metrics
from structguard.gateway.responses import ResponsesEndpoint
from structguard.gateway.rest import Rest
from structguard.gateway.serving import Serving
from structguard.gateway.settings import placed
from structguard.gateway.socket import Sockets, reject
from structguard.gateway.store import open_store
from structguard.gateway.sweep import Sweeper
from structguard.gateway.turn import Turn
from structguard.gateway.upstreams import Upstreams
from structguard.http import Limits
from structguard.http.via_httptools import HttptoolsTransport
from structguard.memo import open_memo
from structguard.observe import log_events
from structguard.options import Policy

log: logging.Logger = logging.getLogger("structguard.gateway")
_CUT = 2.0  # seconds for which what outlasts `limits.drain` may tell its client so
_BODILESS = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})
LEGACY = "POST /v1/chat/completions is on: a legacy endpoint; new clients should use /v1/responses"
Serve = Callable[[Exchange], Awaitable[Turn | None]]


def create_core(config: Config, *, workers_dir: Path | None = None) -> Core:
    """
    One worker's parts. Nothing is opened yet.

    Raises:
        MissingExtra, ValueError: a part cannot be made.
    """
    metrics = Metrics(workers_dir=workers_dir)

    def observer(event: Event, /) -> None:
        log_events(event)
        metrics.sink(event)

    guard = config.guard
    with placed("guard"):
        policy = Policy(
            require_enforced=guard.require_enforced,
            expiry=guard.expiry,
            unnamed=guard.unnamed,
            ignored_after=guard.ignored_after,
        )
    with placed("guard.memo"):
        memo = open_memo(guard.memo, observer=observer)
    most = config.limits.connections
    transport = HttptoolsTransport(limits=Limits(connections=most, idle=most))
    upstreams = Upstreams(
        config, metrics=metrics, memo=memo, policy=policy, transport=transport, observer=observer
    )
    kept = config.store
    with placed("store.url"):
        store = open_store(kept.url, expiry=kept.expiry, limit_bytes=kept.limit_bytes)
    return Core(
        config=config,
        auth=_auth(config.auth),
        memo=memo,
        upstreams=upstreams,
        serving=Serving(upstreams, guard.on_unusable == "error"),
        conversations=Conversations(store),
        metrics=metrics,
        observer=observer,
    )


def _auth(config: AuthConfig) -> Auth:
    hashes = [Token(f"hash {at}", text) for at, text in enumerate(config.token_hashes, start=1)]
    with placed("auth.token_envs"):
        secrets_ = [
            Token.of_secret(name, text)
            for name, text in zip(config.token_envs, config.tokens, strict=False)
        ]
    return Auth([*hashes, *secrets_], failures=config.failures, window=config.failure_seconds)


def create_app(config: Config, *, workers_dir: Path | None = None) -> Gateway:
    """
    The ASGI app of a configuration.

    Raises:
        MissingExtra, ValueError: a part cannot be made, or an endpoint is enabled whose module is
            not installed.
    """
    core = create_core(config, workers_dir=workers_dir)
    hot: dict[str, Serve] = {}
    sockets = None
    if config.endpoints.responses.enabled:
        endpoint = ResponsesEndpoint(core)
        hot["/v1/responses"] = endpoint.serve
        sockets = Sockets(core, endpoint)
    if config.endpoints.chat_completions.enabled:
        if workers_dir is None:  # else their parent has told it, once for all
            log.warning(LEGACY)
        hot["/v1/chat/completions"] = _chat(core)
    return Gateway(core, Rest(core), hot, sockets)


def _chat(core: Core) -> Serve:
    """The legacy endpoint, imported only where it is enabled."""
    try:
        from structguard.gateway.chat import ChatEndpoint  # noqa: PLC0415  removable
    except ModuleNotFoundError as error:
        raise MissingExtra(
            "the chat_completions endpoint was removed; enabling it", "gateway"
        ) from error
    return ChatEndpoint(core).serve


@dataclass(slots=True)
class Gateway:
    """The ASGI app; `hot` is path → handler."""

    core: Core
    rest: Rest
    hot: Mapping[str, Serve]
    sockets: Sockets | None
    sweeper: Sweeper = field(default_factory=Sweeper)
    _rest_app: Callable[[Scope, Receive, SendMessage], Awaitable[None]] = field(init=False)
    _cors: Cors = field(init=False)
    _tasks: anyio.abc.TaskGroup | None = None

    def __post_init__(self) -> None:
        self._rest_app = self.rest.app()
        self._cors = Cors(self.core.config.cors.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: SendMessage) -> None:
        """One connection, or the app's own life."""
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._websocket(Exchange(scope, receive, send, []))
            case _:
                await self._life(receive, send)

    @property
    def limits(self) -> LimitsConfig:
        """What a client may cost."""
        return self.core.config.limits

    def stop(self) -> None:
        """The server is stopping: nothing new begins, what is under way has `limits.drain` seconds."""
        if not self.rest.draining:
            self.rest.draining = True
            if self.sockets is not None:
                self.sockets.stop()
            if self._tasks is not None:
                self._tasks.start_soon(self._cut)

    async def _cut(self) -> None:
        """What outlasts the time ends with an error of its own kind, not with a cut connection."""
        await anyio.sleep(self.limits.drain)
        await self.core.upstreams.aclose()
        await anyio.sleep(_CUT)
        self.sweeper.stop()

    async def _http(self, scope: Scope, receive: Receive, send: SendMessage) -> None:
        id_ = f"{random.getrandbits(64):016x}"
        exchange = Exchange(scope, receive, send, [(b"x-request-id", id_.encode())])
        if await self._cors.answers(exchange):
            return
        path: str = scope["path"]
        serve = self.hot.get(path)
        route = path if serve is not None else route_of(path)
        if route is None:  # for those who watch over the gateway: never limited, never counted
            await self._rest(exchange)
            return
        shown = scope["raw_path"].decode("ascii")  # the other holds whatever a client escaped
        counted = Counted(self.core, route, f"{scope['method']} {shown}")
        turn = None
        try:
            turn = await self._served(exchange, serve)
        finally:
            served = turn.served if turn is not None else None
            counted.over(id_, exchange.status, exchange.began, served)

    async def _rest(self, exchange: Exchange) -> None:
        async def send(message: Scope) -> None:
            if message["type"] == "http.response.start":
                exchange.status = message["status"]
                message["headers"] = [*message.get("headers", []), *exchange.more]
            await exchange.send(message)

        exchange.scope[EXCHANGE] = exchange
        await self._rest_app(exchange.scope, exchange.receive, send)

    async def _served(self, exchange: Exchange, serve: Serve | None) -> Turn | None:
        """One request, answered; cancelled when its client goes away or its body does not come."""
        limits = self.core.config.limits
        watched = self.sweeper.watch(exchange.receive, limits.body_seconds)
        exchange.on_body = watched.body_came
        if serve is None and exchange.scope["method"] in _BODILESS:
            watched.body_came()
        try:
            return await self._answered(exchange, serve)
        except asyncio.CancelledError:
            if not watched.was_ended():
                raise
        finally:
            self.sweeper.done(watched)
        if watched.late:
            await exchange.refuse(exchange.late(limits))
        elif watched.stopped:
            await exchange.refuse(_stopping())
        return None

    async def _answered(self, exchange: Exchange, serve: Serve | None) -> Turn | None:
        try:
            if serve is None:
                await self._rest(exchange)
                return None
            if exchange.scope["method"] != "POST":
                raise ApiError(  # noqa: TRY301  one place that answers
                    405,
                    "this endpoint takes POST",
                    code="method_not_allowed",
                    headers={"allow": "POST"},
                )
            return await serve(exchange)
        except ApiError as error:
            await exchange.refuse(error)
        except Gone:
            pass
        except Exception as error:
            fault = self.core.refusal(error, "responses", "")
            if fault.code == "bug":
                log.exception("a request ended in a bug: %s", type(error).__name__)
            await exchange.refuse(fault)
        return None

    async def _websocket(self, exchange: Exchange) -> None:
        if self.sockets is None or exchange.scope["path"] != "/v1/responses":
            await exchange.receive()
            text = "WebSockets are not available on this path"
            await reject(exchange, ApiError(404, text, code="not_found"))
            return
        await self.sockets.serve(exchange)

    async def _life(self, receive: Receive, send: SendMessage) -> None:
        async with anyio.create_task_group() as group:
            self._tasks = group
            await receive()  # lifespan.startup
            group.start_soon(self.sweeper.run)
            gc.collect()
            gc.freeze()  # what start-up made lives as long as the worker: not to be looked at again
            await send({"type": "lifespan.startup.complete"})
            await receive()  # lifespan.shutdown
            self.rest.draining = True
            group.cancel_scope.cancel()
        await self.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def aclose(self) -> None:
        """Let go of connections and stores."""
        await self.core.upstreams.aclose()
        await self.core.conversations.store.aclose()
        await self.core.memo.aclose()


def _stopping() -> ApiError:
    text = "the gateway is stopping; it did not get an answer in time"
    return ApiError(503, text, "server_error", code="stopping", headers={"retry-after": "1"})
