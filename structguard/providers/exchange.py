"""
One send over one wire and what came of it: a reply, the first event of a stream, or a judged fault.

Source: spec errors, spec wire "Streams".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Protocol

from structguard.errors import redact
from structguard.http import ExchangeFailed, Response
from structguard.providers.call import Call, Fault, Route
from structguard.providers.seams import Feed
from structguard.providers.streaming import Events
from structguard.refusal import detect_refusal
from structguard.service import Clock
from structguard.types import (
    Completion,
    Failure,
    Format,
    JsonSchema,
    Kind,
    Refusal,
)
from structguard.wire.base import BadReply, StreamDecoder, Wire, is_reasoning

_OURS = frozenset({"provider", "requests", "enforced"})
_CARRIED = tuple(one.name for one in fields(Completion) if one.name not in _OURS)


class Sender(Protocol):
    """What one send needs of the engine."""

    @property
    def id(self) -> str: ...
    @property
    def feed(self) -> Callable[[StreamDecoder], Feed]: ...
    @property
    def wall(self) -> Clock: ...
    async def send(
        self, call: Call, method: str, url: str, body: bytes, /, *, stream: bool = False
    ) -> Response: ...


async def whole(
    sender: Sender, call: Call, route: Route, sent_format: Format | None, body: bytes
) -> Completion | Fault:
    """The whole reply; `sent_format` is what the body carries."""
    try:
        response = await sender.send(call, "POST", route.url, body)
        raw = await response.aread()
    except ExchangeFailed as error:
        # Half a reply is no reply: that it was cut says no more than that the network broke.
        return fault_of(route.wire, replace(error.failure, truncated=False), error)
    if not 200 <= response.status < 300:
        return _refused(sender, call, route, sent_format, response, raw)
    try:
        reply = route.wire.decode_reply(
            raw, response.headers, format=sent_format, options=route.options
        )
    except BadReply as error:
        return _judged(call, route, sent_format, error.failure, error)
    return _signed(sender.id, call, sent_format, reply)


async def opened(
    sender: Sender, call: Call, route: Route, sent_format: Format | None, body: bytes
) -> Events | Fault:
    """A stream that gave its first event; closed again on every other way out."""
    try:
        response = await sender.send(call, "POST", route.url, body, stream=True)
    except ExchangeFailed as error:
        return fault_of(route.wire, error.failure, error)
    try:
        outcome = await _begun(sender, call, route, sent_format, response)
    except BaseException:
        await response.aclose()
        raise
    if isinstance(outcome, Fault):
        await response.aclose()
    return outcome


async def _begun(
    sender: Sender, call: Call, route: Route, sent_format: Format | None, response: Response
) -> Events | Fault:
    try:
        if not 200 <= response.status < 300:
            raw = await response.aread()
            return _refused(sender, call, route, sent_format, response, raw)
        decoder = route.wire.open_stream(
            response.headers, format=sent_format, options=route.options
        )
        events = Events(
            response,
            decoder,
            sender.feed(decoder),
            finish=lambda reply: _signed(sender.id, call, sent_format, reply),
            fail=lambda failure, cause: call.error(fault_of(route.wire, failure, cause)),
        )
        await events.start()
    except ExchangeFailed as error:
        return fault_of(route.wire, error.failure, error)
    except BadReply as error:
        return _judged(call, route, sent_format, error.failure, error)
    return events


def fault_of(wire: Wire, failure: Failure, cause: BaseException | None = None) -> Fault:
    """The failure with its kind. Endpoints repeat a wrong key in their message: it is masked."""
    return Fault(
        failure=replace(failure, message=redact(failure.message)),
        kind=wire.classify(failure)[0],
        classify=wire.classify,
        cause=cause,
    )


def redirect_of(wire: Wire, response: Response, failure: Failure) -> Fault | None:
    """A redirect, if it is one: not followed, for that sends twice, and the key elsewhere."""
    if not 300 <= response.status < 400:
        return None
    # without its query, which repeats ours and whatever key is in it
    where = response.headers.get("location", "an address it does not name").partition("?")[0]
    text = f"the endpoint redirects to {where}; redirects are not followed, set base_url to it"
    return replace(fault_of(wire, replace(failure, message=text)), kind=Kind.NOT_FOUND)


def _refused(
    sender: Sender,
    call: Call,
    route: Route,
    sent_format: Format | None,
    response: Response,
    raw: bytes,
) -> Fault:
    """Any status but 2xx."""
    now = sender.wall()
    failure = route.wire.failure(response.status, response.headers, raw, now=now)
    moved = redirect_of(route.wire, response, failure)
    return moved or _judged(call, route, sent_format, failure, None)


def _judged(
    call: Call,
    route: Route,
    sent_format: Format | None,
    failure: Failure,
    cause: BaseException | None,
) -> Fault:
    fault = fault_of(route.wire, failure, cause)
    return replace(fault, refusal=_refusal(call, route, sent_format, failure))


def _refusal(
    call: Call, route: Route, sent_format: Format | None, failure: Failure
) -> Refusal | None:
    if sent_format is None or failure.status is None:
        return None
    return detect_refusal(
        failure.status,
        call.concealed(failure.body),  # what is read from it is shown and remembered
        sent="json_schema" if isinstance(sent_format, JsonSchema) else "json_object",
        api=route.wire.API,
        tools=bool(call.request.tools),
        stream=call.stream,
        reasoning=is_reasoning(call.request, route.options),
    )


def _signed(provider: str, call: Call, sent_format: Format | None, reply: Completion) -> Completion:
    """The reply with who gave it and what it cost; a format that was left out is not enforced."""
    left_out = call.format is not None and sent_format is None
    enforced = False if left_out else reply.enforced
    return signed(reply, provider=provider, requests=call.requests, enforced=enforced)


def signed(reply: Completion, *, provider: str, requests: int, enforced: bool | None) -> Completion:
    """The reply with who gave it and how; `dataclasses.replace` costs three times as much."""
    return Completion(
        **{name: getattr(reply, name) for name in _CARRIED},
        provider=provider,
        requests=requests,
        enforced=enforced,
    )
