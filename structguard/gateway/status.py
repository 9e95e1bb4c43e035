"""
The status page's routes: the page, its stylesheet, and the form that forgets a memo entry.

Behind auth where there is one; a browser logs in with a token as its password. Source: spec
gateway, issue "a status page".
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib.metadata import version
from types import MappingProxyType
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from structguard.errors import redact
from structguard.gateway.asgi import EXCHANGE, Exchange
from structguard.gateway.auth import Caller
from structguard.gateway.core import Core
from structguard.gateway.faults import ApiError
from structguard.gateway.page import (
    FORGET_PATH,
    HEADERS,
    STYLE_PATH,
    STYLESHEET,
    ChainRow,
    Csrf,
    ProviderRow,
    Snapshot,
    render,
)
from structguard.layers.partition import LinkView

MAX_FORM = 4096  # bytes
_NOTES: Mapping[str | None, str] = MappingProxyType(
    {
        "1": "Forgotten: the format is tried again with the next call.",
        "0": "It was forgotten already.",
    }
)
_OURS = frozenset(
    {"same-origin", "none"}
)  # Sec-Fetch-Site of our own forms, and of a typed address


def status_routes(core: Core) -> list[Route]:
    """The routes, for `pages.status`."""
    pages = _StatusPages(core)
    return [
        Route("/", pages.behind_auth(pages.show)),
        Route(FORGET_PATH, pages.behind_auth(pages.forget), methods=["POST"]),
        Route(STYLE_PATH, _stylesheet),
    ]


def exchange_of(request: Request) -> Exchange:
    """A request's exchange: the one it came in, if it came through the gateway's app."""
    found = request.scope.get(EXCHANGE)
    if isinstance(found, Exchange):
        return found
    return Exchange(request.scope, request.receive, request._send, [])  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


async def _stylesheet(request: Request) -> Response:
    """The same for everybody, for ever: its path changes with its text."""
    del request
    headers = {
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
    }
    return Response(STYLESHEET, headers=headers, media_type="text/css")


class _StatusPages:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._started = time.time()
        self._csrf = Csrf(core.auth.form_secret() or core.metrics.shared_secret())
        self._version = version("structguard")

    def behind_auth(
        self, handler: Callable[[Request, Caller], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Auth first; an error tells a browser how to log in."""

        async def checked(request: Request) -> Response:
            exchange = exchange_of(request)
            try:
                exchange.check_headers(self._core.config.limits)
                return await handler(request, self._core.caller(exchange, basic=True))
            except ApiError as error:
                return Response(
                    error.body,
                    error.status,
                    headers={**error.headers, "cache-control": "no-store"},
                    media_type="application/json",
                )

        return checked

    async def show(self, request: Request, caller: Caller) -> Response:
        """GET /"""
        core = self._core
        entries = await core.memo.aentries()
        snapshot = Snapshot(
            version=self._version,
            started=self._started,
            now=time.time(),
            numbers=core.metrics.summary(),
            providers=[
                ProviderRow(id=name, base_url=redact(provider.base_url), api=provider.api_for(None))
                for name, provider in core.upstreams.providers.items()
            ],
            chains=self._chains(),
            entries=entries,
            memo=redact(core.memo.name),
            store=redact(core.conversations.store.name),
            message=_NOTES.get(request.query_params.get("forgot"), ""),
            csrf=self._csrf.token(caller.scope),
        )
        return Response(render(snapshot), headers=dict(HEADERS))

    def _chains(self) -> Sequence[ChainRow]:
        """Each alias; one that nobody has asked for yet has nothing against it."""
        chains = self._core.upstreams.chains()
        return [
            ChainRow(
                alias=alias,
                links=chains[alias].state() if alias in chains else _unused_links(links),
            )
            for alias, links in self._core.config.models.items()
        ]

    async def forget(self, request: Request, caller: Caller) -> Response:
        """POST /forget"""
        form = await _form(request)
        if not _same_site(request) or not self._csrf.check(caller.scope, form.get("csrf", "")):
            raise ApiError(403, "this form is no longer valid: reload the page", code="form")
        memo, found = self._core.memo, False
        for entry in await memo.aentries():
            if entry.id == form.get("entry"):
                await memo.aclear(entry)
                found = True
        return Response(status_code=303, headers={"location": f"/?forgot={int(found)}"})


async def _form(request: Request) -> Mapping[str, str]:
    """The form's fields; ours is short."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM:
            raise ApiError(413, "the form is too large", code="too_large")
    fields = parse_qs(body.decode("latin-1"))
    return {name: values[0] for name, values in fields.items()}


def _same_site(request: Request) -> bool:
    """Whether a browser says that our own page posted; other programs say nothing."""
    headers = request.headers
    origin = headers.get("origin")
    if headers.get("sec-fetch-site", "none") not in _OURS:
        return False
    return origin is None or origin.partition("://")[2] == headers.get("host")


def _unused_links(links: Sequence[str]) -> Sequence[LinkView]:
    return [
        LinkView(
            link=link, mode="closed", failures=0, cools_for=0.0, serving=index == 0,
            probing=False, reason="",
        )
        for index, link in enumerate(links)
    ]  # fmt: skip
