"""
The app: hot endpoints as plain ASGI, everything else through Starlette.

Source: spec gateway "Speed bar", "Requests" (order of checks).
"""

from __future__ import annotations

import gc
import logging
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import anyio

from structguard.errors import MissingExtra
from structguard.events import Event
from structguard.gateway.asgi import Exchange, Gone, RawHeaders, Receive, Scope, SendMessage
from structguard.gateway.auth import Auth, Token
from structguard.gateway.config import AuthConfig, Config
from structguard.gateway.conversation import Conversations
from structguard.gateway.core import Core
from structguard.gateway.faults import ApiError
from structguard.gateway.metrics import Metrics
from structguard.gateway.responses import ResponsesEndpoint
from structguard.gateway.rest import Rest
from structguard.gateway.serving import Serving
from structguard.gateway.socket import Sockets
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
access: logging.Logger = logging.getLogger("structguard.access")
_EXPOSED = (
    b"x-request-id, x-structguard-enforced, x-structguard-source, x-structguard-requests,"
    b" x-structguard-provider"
)
Serve = Callable[[Exchange], Awaitable[Turn]]


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
    policy = Policy(
        require_enforced=guard.require_enforced,
        expiry=guard.expiry,
        unnamed=guard.unnamed,
        ignored_after=guard.ignored_after,
    )
    memo = open_memo(guard.memo, observer=observer)
    most = config.limits.connections
    transport = HttptoolsTransport(limits=Limits(connections=most, idle=most))
    upstreams = Upstreams(
        config, metrics=metrics, memo=memo, policy=policy, transport=transport, observer=observer
    )
    store = open_store(
        config.store.url, expiry=config.store.expiry, limit_bytes=config.store.limit_bytes
    )
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
    log.warning(
        "POST /v1/chat/completions is on: a legacy endpoint; new clients should use /v1/responses"
    )
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

    def __post_init__(self) -> None:
        self._rest_app = self.rest.app()

    async def __call__(self, scope: Scope, receive: Receive, send: SendMessage) -> None:
        """One connection, or the app's own life."""
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._websocket(Exchange(scope, receive, send, []))
            case _:
                await self._life(receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: SendMessage) -> None:
        id_ = secrets.token_hex(8)
        more: RawHeaders = [(b"x-request-id", id_.encode())]
        exchange = Exchange(scope, receive, send, more)
        cors = self.core.config.cors.origins and scope["path"].startswith("/v1/")
        if cors and await self._cors(exchange):
            return
        serve = self.hot.get(scope["path"])
        if serve is None:
            await self._rest_app(scope, receive, _adding(send, exchange.more))
            return
        name = scope["path"]
        core, started = self.core, time.perf_counter()
        core.metrics.started(name)
        core.busy += 1
        turn = None
        try:
            turn = await self._served(exchange, serve)
        finally:
            core.busy -= 1
            seconds = time.perf_counter() - started
            told = turn.served if turn is not None else None
            core.metrics.finished(
                endpoint=name,
                status=exchange.status or 499,
                seconds=seconds,
                first_byte=exchange.began - started if exchange.began else None,
                enforced=told.enforced if told else None,
                source=told.source if told else None,
            )
            if core.config.log.access and access.isEnabledFor(logging.INFO):
                access.info(
                    "%s %s %s %d %.1f ms", id_, scope["method"], scope["path"],
                    exchange.status or 499, seconds * 1000,
                )  # fmt: skip

    async def _served(self, exchange: Exchange, serve: Serve) -> Turn | None:
        """One request, answered; cancelled when its client goes away or its body does not come."""
        limits = self.core.config.limits
        scope = anyio.CancelScope()
        watched = self.sweeper.watch(exchange.receive, scope, limits.body_seconds)

        def on_body() -> None:
            watched.reading = False

        exchange.on_body = on_body
        with scope:
            try:
                return await self._answered(exchange, serve)
            finally:
                self.sweeper.done(watched)
        if watched.late:
            await exchange.refuse(exchange.late(limits))
        return None

    async def _answered(self, exchange: Exchange, serve: Serve) -> Turn | None:
        try:
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
            log.exception("a request ended in a bug: %s", type(error).__name__)
            await exchange.refuse(ApiError(500, "the gateway failed", "server_error", code="bug"))
        return None

    async def _cors(self, exchange: Exchange) -> bool:
        """Add the browser's headers; True where it only asked beforehand."""
        origin = exchange.header(b"origin")
        allowed = self.core.config.cors.origins
        if origin is None or not ({"*", origin} & set(allowed)):
            return False
        shown = b"*" if "*" in allowed else origin.encode("latin-1")
        exchange.more += [
            (b"access-control-allow-origin", shown),
            (b"access-control-expose-headers", _EXPOSED),
            (b"vary", b"origin"),
        ]  # fmt: skip
        if exchange.scope["method"] != "OPTIONS":
            return False
        await exchange.reply(
            204,
            b"",
            {
                "access-control-allow-methods": "GET, POST, DELETE",
                "access-control-allow-headers": "authorization, content-type, x-structguard-mode,"
                " x-request-timeout",
                "access-control-max-age": "600",
            },
        )
        return True

    async def _websocket(self, exchange: Exchange) -> None:
        if self.sockets is None or exchange.scope["path"] != "/v1/responses":
            await exchange.receive()
            await exchange.send({"type": "websocket.close", "code": 1008})
            return
        await self.sockets.serve(exchange)

    async def _life(self, receive: Receive, send: SendMessage) -> None:
        async with anyio.create_task_group() as group:
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


def _adding(send: SendMessage, more: RawHeaders) -> SendMessage:
    async def adding(message: Scope) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *more]
        await send(message)

    return adding
