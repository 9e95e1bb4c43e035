"""
The endpoints that are not hot: models, embeddings, stored responses, health, metrics, the page.

Served by Starlette, with the same errors as the hot ones.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from structguard.errors import ProviderError
from structguard.gateway import schema_embeddings, schema_responses
from structguard.gateway.asgi import Gone
from structguard.gateway.auth import Caller
from structguard.gateway.compact import compacted
from structguard.gateway.conversation import listed, no_store
from structguard.gateway.core import Core, timeout_of
from structguard.gateway.embeddings import embedded
from structguard.gateway.faults import ApiError
from structguard.gateway.openapi import document
from structguard.gateway.resource import now
from structguard.gateway.status import exchange_of, status_routes
from structguard.gateway.store import StoreTrouble
from structguard.gateway.turn import object_in
from structguard.gateway.writing import packed
from structguard.http import ExchangeFailed
from structguard.types import as_mapping, as_sequence

Handler = Callable[[Request, Caller], Awaitable[Response]]
_MODELS_SECONDS = 10.0


def json_reply(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A JSON reply."""
    return Response(packed(value), status, headers=headers, media_type="application/json")


def error_reply(error: ApiError) -> Response:
    """An error reply with its four keys."""
    return Response(error.body, error.status, headers=error.headers, media_type="application/json")


class Rest:
    """The handlers; `app` routes to them."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.draining = False
        self._started = now()

    def app(self) -> Starlette:
        """The Starlette application."""
        routes = [
            Route("/v1/models", self._guarded(self.models)),
            Route("/v1/models/{model:path}", self._guarded(self.model)),
            Route("/v1/embeddings", self._guarded(self.embeddings), methods=["POST"]),
            Route("/openapi.json", self._guarded(self.openapi)),
            Route("/healthz", self.health),
            Route("/readyz", self.ready),
        ]
        if self.core.config.endpoints.responses.enabled:
            routes += [
                Route("/v1/responses/compact", self._guarded(self.compact), methods=["POST"]),
                Route("/v1/responses/{id}", self._guarded(self.stored), methods=["GET", "DELETE"]),
                Route("/v1/responses/{id}/input_items", self._guarded(self.inputs)),
            ]
        if self.core.config.pages.metrics:
            routes.append(Route("/metrics", self._guarded(self.metrics)))
        if self.core.config.pages.status:
            routes += status_routes(self.core)
        return Starlette(
            routes=routes, exception_handlers={HTTPException: _http_error, Exception: _bug}
        )

    def _guarded(self, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
        """Auth first; every error in the one form."""

        async def checked(request: Request) -> Response:
            try:
                exchange = exchange_of(request)
                exchange.check_headers(self.core.config.limits)
                caller = self.core.caller(exchange)
                self.core.client_headers(exchange)
                if request.method != "POST" and request.url.path.startswith("/v1/"):
                    self.core.check_room()  # where a body is read, that comes before
                return await handler(request, caller)
            except Gone:
                return Response(status_code=499)
            except StoreTrouble as error:
                return error_reply(no_store(error))
            except (ApiError, ProviderError, TypeError, ValueError) as error:
                told = self.core.refusal(error, "responses", "")
                if told.code == "bug":
                    raise
                return error_reply(told)

        return checked

    async def models(self, request: Request, caller: Caller) -> Response:
        """Aliases, then what the only provider lists."""
        del request, caller
        return json_reply({"object": "list", "data": await self._models()})

    async def model(self, request: Request, caller: Caller) -> Response:
        """One model, by any name that is answered for; what an upstream lists is all it has."""
        del caller
        name = str(request.path_params["model"])
        upstreams = self.core.upstreams
        upstreams.links(name)
        if name in self.core.config.models or upstreams.default is None:
            return json_reply(self._alias(name))
        rows = {row.get("id"): row for row in await self._listed()}
        listed = rows.get(name.removeprefix(f"{upstreams.default}:"))
        if rows and listed is None:
            raise ApiError(
                404, f"there is no model {name!r} here", param="model", code="model_not_found"
            )
        return json_reply({**(listed or self._alias(name)), "id": name})

    def _alias(self, name: str) -> dict[str, object]:
        owner = self.core.upstreams.links(name)[0][0]
        return {"id": name, "object": "model", "created": self._started, "owned_by": owner}

    async def _models(self) -> Sequence[Mapping[str, object]]:
        aliases = [self._alias(name) for name in self.core.config.models]
        return [*aliases, *await self._listed()]

    async def _listed(self) -> list[Mapping[str, object]]:
        """What the only provider lists, where it can be asked the OpenAI way."""
        upstreams = self.core.upstreams
        passage = upstreams.passage(upstreams.default) if upstreams.default else None
        if passage is None or not passage.endpoints.lists:
            return []
        url = passage.endpoints.beside("/models")
        try:
            reply = await passage.transport.send(
                "GET", url, headers=passage.headers, budget=_MODELS_SECONDS
            )
            body = as_mapping(orjson.loads(await reply.aread())) or {}
        except (ExchangeFailed, ValueError):
            return []
        rows = [as_mapping(row) for row in as_sequence(body.get("data")) or ()]
        return [row for row in rows if row is not None]

    async def embeddings(self, request: Request, caller: Caller) -> Response:
        """Vectors, from the first link that gives them."""
        del caller
        exchange = exchange_of(request)
        body = object_in(await exchange.body(self.core.config.limits))
        problem = schema_embeddings.fault(body)
        if problem is not None:
            raise ApiError(400, problem[0], param=problem[1])
        result, warning = await embedded(self.core, body, timeout_of(exchange))
        reply = json_reply(result)
        if warning:
            told = warning.encode("latin-1", "replace")
            reply.raw_headers.append((b"x-structguard-warning", told))
        return reply

    async def compact(self, request: Request, caller: Caller) -> Response:
        """A conversation, compacted."""
        exchange = exchange_of(request)
        raw = await exchange.body(self.core.config.limits)
        body = object_in(raw)
        turn = self.core.checked(exchange, "responses", body, raw, caller, schema_responses.fault)
        try:
            content = await compacted(self.core, turn, caller.scope)
        except ProviderError as error:
            return error_reply(self.core.refusal(error, "responses", turn.model))
        reply = Response(content, media_type="application/json")
        reply.raw_headers += turn.served.raw_headers()
        return reply

    async def stored(self, request: Request, caller: Caller) -> Response:
        """A stored response, read or forgotten."""
        handler = self.delete_stored if request.method == "DELETE" else self.read_stored
        return await handler(request, caller)

    async def read_stored(self, request: Request, caller: Caller) -> Response:
        """A stored response."""
        if request.query_params.get("stream", "false") != "false":
            raise ApiError(400, "a stored response is not streamed again", param="stream")
        stored = await self.core.conversations.stored(caller.scope, request.path_params["id"])
        if stored is None:
            raise _no_response(request.path_params["id"])
        return json_reply(stored.response)

    async def delete_stored(self, request: Request, caller: Caller) -> Response:
        """Forget a stored response."""
        id_ = request.path_params["id"]
        if not await self.core.conversations.store.delete(caller.scope, id_):
            raise _no_response(id_)
        return json_reply({"id": id_, "object": "response", "deleted": True})

    async def inputs(self, request: Request, caller: Caller) -> Response:
        """What went into a stored response: `order`, `limit` and `after` as OpenAI has them."""
        stored = await self.core.conversations.stored(caller.scope, request.path_params["id"])
        if stored is None:
            raise _no_response(request.path_params["id"])
        items = listed(stored.input)
        if _order(request.query_params.get("order")) == "desc":
            items.reverse()
        after = request.query_params.get("after")
        ids = [item.get("id") for item in items]
        if after is not None:
            if after not in ids:
                raise ApiError(400, f"there is no item {after!r} in it", param="after")
            items = items[ids.index(after) + 1 :]
        page = items[: _limit(request.query_params.get("limit"))]
        return json_reply(
            {
                "object": "list",
                "data": page,
                "first_id": page[0].get("id") if page else None,
                "last_id": page[-1].get("id") if page else None,
                "has_more": len(page) < len(items),
            }
        )

    async def openapi(self, request: Request, caller: Caller) -> Response:
        """What is offered here, as an OpenAPI document."""
        del request, caller
        return json_reply(document(self.core.config))

    async def health(self, request: Request) -> Response:
        """Whether the process answers."""
        del request
        return json_reply({"status": "ok"})

    async def ready(self, request: Request) -> Response:
        """Whether new requests should come here."""
        del request
        if self.draining:
            return json_reply({"status": "draining"}, 503)
        return json_reply({"status": "ok"})

    async def metrics(self, request: Request, caller: Caller) -> Response:
        """What Prometheus scrapes."""
        del request, caller
        content, kind = self.core.metrics.render()
        return Response(content, headers={"content-type": kind})


def _limit(value: str | None) -> int:
    if value is None:
        return 20
    if not value.isdecimal() or not 1 <= int(value) <= 100:
        raise ApiError(400, "limit must be 1 to 100", param="limit")
    return int(value)


def _order(value: str | None) -> str:
    if value not in {None, "asc", "desc"}:
        raise ApiError(400, f"order must be asc or desc, got {value!r}", param="order")
    return value or "desc"


def _no_response(id_: str) -> ApiError:
    return ApiError(404, f"there is no response {id_!r} here", code="response_not_found")


async def _http_error(request: Request, error: Exception) -> Response:
    """Starlette's own 404 and 405 in the one form."""
    assert isinstance(error, HTTPException)  # noqa: S101
    error_ = ApiError(
        error.status_code,
        f"{request.method} {request.url.path} does not exist here",
        code="method_not_allowed" if error.status_code == 405 else "not_found",
        headers=dict(error.headers or {}),
    )
    return error_reply(error_)


async def _bug(request: Request, error: Exception) -> Response:
    del request, error
    return error_reply(ApiError(500, "the gateway failed; its log says why", "server_error"))
