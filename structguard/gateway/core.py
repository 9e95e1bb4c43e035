"""What the endpoints of one worker share, and the checks every request passes, in their order."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from structguard.events import Observer
from structguard.gateway.asgi import Exchange
from structguard.gateway.auth import Auth, Caller, TooManyFailures, Unauthorized
from structguard.gateway.config import Config
from structguard.gateway.conversation import Conversations
from structguard.gateway.faults import ApiError, failed
from structguard.gateway.metrics import Metrics
from structguard.gateway.serving import Serving
from structguard.gateway.transport import SAFE
from structguard.gateway.turn import CLIENT, Mode, Turn, object_in
from structguard.gateway.upstreams import Upstreams
from structguard.memo import Memo
from structguard.types import Api

log: logging.Logger = logging.getLogger("structguard.gateway")
Fault = Callable[[dict[str, object]], tuple[str, str | None] | None]
_MODES: Mapping[bytes, Mode] = {b"guard": "guard", b"native": "native", b"off": "off"}


@dataclass(slots=True, kw_only=True)
class Core:
    """One worker's parts."""

    config: Config
    auth: Auth
    memo: Memo
    upstreams: Upstreams
    serving: Serving
    conversations: Conversations
    metrics: Metrics
    observer: Observer
    busy: int = 0

    def caller(self, exchange: Exchange, *, basic: bool = False) -> Caller:
        """
        Who calls.

        Raises:
            ApiError: 401, 429 after too many wrong tokens, or 403 for another site's page.
        """
        if self.auth.open and not basic:  # the status page's form has a token of its own
            self._check_origin(exchange)
        try:
            return self.auth.check(exchange.header(b"authorization"), exchange.peer, basic=basic)
        except Unauthorized as error:
            headers = {"www-authenticate": error.challenge}
            raise ApiError(
                401, str(error), "authentication_error", code="invalid_api_key", headers=headers
            ) from error
        except TooManyFailures as error:
            headers = {"retry-after": str(error.retry_after)}
            raise ApiError(
                429, str(error), "rate_limit_error", code="too_many_failures", headers=headers
            ) from error

    def _check_origin(self, exchange: Exchange) -> None:
        """
        Refuse another site's page where nobody needs a token. A browser lets any page send a plain
        POST, whose reply it may not read, and open a WebSocket, over which CORS has no say
        (RFC 6455 section 10.2): both would be paid with the upstream's key.
        """
        origin, allowed = exchange.header(b"origin"), self.config.cors.origins
        if origin is None or {"*", origin} & {*allowed}:
            return
        if origin.partition("://")[2] != exchange.header(b"host"):
            raise ApiError(
                403, "web pages of this origin are not allowed to call: see cors.origins"
            )

    async def turn(self, exchange: Exchange, api: Api, fault: Fault) -> tuple[Turn, Caller]:
        """
        The request, once auth, size, JSON, schema and model are in order.

        Raises:
            ApiError: what is not. Gone: the client left.
        """
        exchange.check_headers(self.config.limits)
        caller = self.caller(exchange)
        raw = await exchange.body(self.config.limits)
        body = object_in(raw)
        return self.checked(exchange, api, body, raw, caller, fault), caller

    def checked(
        self,
        exchange: Exchange,
        api: Api,
        body: dict[str, object],
        raw: bytes | None,
        caller: Caller,
        fault: Fault,
    ) -> Turn:
        """
        A body that came over any way, once schema and model are in order.

        Raises:
            ApiError: what is not.
        """
        found = fault(body)
        if found is not None:
            raise ApiError(400, found[0], param=found[1])
        turn = Turn(
            api=api,
            body=body,
            raw=raw,
            mode=_mode(exchange.named.get(b"x-structguard-mode", b"guard")),
            timeout=timeout_of(exchange),
            scope=caller.scope,
        )
        if not turn.model:
            raise ApiError(400, "model is missing", param="model")
        turn.links = self.upstreams.links(turn.model)
        self.client_headers(exchange)
        self.check_room()
        return turn

    def check_room(self) -> None:
        """
        Whether this request, which is counted already, is not one too many.

        Raises:
            ApiError: 429.
        """
        if self.busy > self.config.limits.concurrent:
            raise ApiError(
                429,
                "the gateway is at its limit of concurrent requests: try again later",
                "rate_limit_error",
                code="too_many_requests",
                headers={"retry-after": "1"},
            )

    def client_headers(self, exchange: Exchange) -> None:
        """Note which of the client's headers may go upstream."""
        named = exchange.named
        found = {name.decode(): named[name].decode("latin-1") for name in SAFE.intersection(named)}
        if self.auth.open and (key := exchange.header(b"authorization")) is not None:
            found["authorization"] = key
        CLIENT.set(found)

    def refusal(self, error: Exception, api: Api, model: str) -> ApiError:
        """The client's error for whatever a turn ended in."""
        try:
            own = bool(model) and self.upstreams.passes_credential(model)
        except ApiError:
            own = False
        return failed(error, api, own_key=own)

    def broken(self, error: Exception, turn: Turn) -> ApiError:
        """The client's error for a stream that ended in this after it had begun."""
        fault = self.refusal(error, turn.api, turn.model)
        if fault.code == "bug":
            log.error("a stream ended in a bug: %s", type(error).__name__, exc_info=error)
        return fault


def _mode(given: bytes) -> Mode:
    mode = _MODES.get(given)
    if mode is None:
        shown = given.decode("latin-1")
        raise ApiError(
            400,
            f"x-structguard-mode must be guard, native or off, got {shown!r}",
            param="x-structguard-mode",
        )
    return mode


def timeout_of(exchange: Exchange) -> float | None:
    """
    The client's deadline in seconds, if it set one.

    Raises:
        ApiError: it is none.
    """
    given = exchange.header(b"x-request-timeout")
    if given is None:
        return None
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < 86400.0:
        raise ApiError(
            400, "x-request-timeout must be seconds, more than 0", param="x-request-timeout"
        )
    return seconds
