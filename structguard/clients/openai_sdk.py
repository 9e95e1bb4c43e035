"""
The official `openai` client, guarded in place: `request` is replaced on the instance.

Covers chat.completions and responses: create, parse, stream and raw responses, sync and async,
OpenAI and Azure. Everything else passes through. Source: DESIGN "Decisions", spec guard §2.
"""

# pyright: reportPrivateUsage=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openai import AsyncOpenAI, OpenAI
from openai._models import FinalRequestOptions
from openai._response import APIResponse, AsyncAPIResponse

from structguard.clients.call import BodyCall
from structguard.clients.openai_call import ClientGuard, GuardedCall
from structguard.clients.openai_state import state_of_copy
from structguard.events import Observer
from structguard.flow import Info, Send, Sent, adrive, drive, publish
from structguard.memo import Memo
from structguard.options import Policy
from structguard.service import Clock
from structguard.types import as_text

_MARK = "__structguard__"
_REPLACED = ("request", "copy", "with_options", "__getstate__")


def guard_client(
    client: object, *, memo: Memo, policy: Policy, observer: Observer, clock: Clock
) -> None:
    """
    Guard this client in place; a client already guarded is left as it is.

    Copies made with `copy` or `with_options` are guarded with the same memo and policy; one made by
    `copy.copy` is a plain client of its own.

    Raises:
        TypeError: not an OpenAI or AsyncOpenAI (Azure included).
    """
    if not isinstance(client, OpenAI | AsyncOpenAI):
        raise TypeError(f"not an openai client: {type(client).__name__}")
    if is_guarded(client):
        return
    guard = ClientGuard(
        client=client,
        memo=memo,
        policy=policy,
        observer=observer,
        clock=clock,
        api_version=as_text(client.default_query.get("api-version")),
        deployment=getattr(client, "_azure_deployment", None),
        before={name: value for name, value in vars(client).items() if name in _REPLACED},
    )
    request = (
        _async_request(guard, client)
        if isinstance(client, AsyncOpenAI)
        else _request(guard, client)
    )
    original_copy = client.copy

    def copy(*args: Any, **kwargs: Any) -> OpenAI | AsyncOpenAI:
        copied = original_copy(*args, **kwargs)
        guard_client(copied, memo=memo, policy=policy, observer=observer, clock=clock)
        return copied

    without = (*_REPLACED, _MARK)
    replacements = {
        "request": request,
        "copy": copy,
        "with_options": copy,
        "__getstate__": state_of_copy(client, without=without, back=guard.before),
        _MARK: guard,
    }
    vars(client).update(replacements)


def unguard_client(client: object) -> None:
    """Take the guard off this client; one that has none is left as it is."""
    if is_guarded(client):
        guard: ClientGuard = vars(client).pop(_MARK)
        for name in _REPLACED:
            del vars(client)[name]
        vars(client).update(guard.before)


def is_guarded(client: object) -> bool:
    """Whether this very instance is guarded."""
    return _MARK in vars(client)


def _request(guard: ClientGuard, client: OpenAI) -> Callable[..., Any]:
    original: Callable[..., Any] = client.request

    def request(
        cast_to: Any, options: FinalRequestOptions, *, stream: bool = False, stream_cls: Any = None
    ) -> Any:
        call = guard.plan(options, cast_to)
        if call is None or not call.guardable:
            value = original(cast_to, options, stream=stream, stream_cls=stream_cls)
            _untouched(call)
            return value
        guarded = GuardedCall(guard, call, options, cast_to, stream)
        reply_type = guarded.reply_type(APIResponse)

        def send(effect: Send[BodyCall]) -> Sent[Any]:
            exchange, send_options = guarded.exchange(effect)
            try:
                reply = original(reply_type, send_options, stream=stream, stream_cls=stream_cls)
                return guarded.sent(exchange.take(reply))
            except Exception as error:  # noqa: BLE001  judged, then raised again unchanged
                return guarded.failed(error)

        served = drive(
            call, send, memo=guard.memo, policy=guard.policy, observer=guard.observer,
            timeout=guarded.timeout,
        )  # fmt: skip
        return guarded.finish(served)

    return request


def _async_request(guard: ClientGuard, client: AsyncOpenAI) -> Callable[..., Any]:
    original: Callable[..., Any] = client.request

    async def request(
        cast_to: Any, options: FinalRequestOptions, *, stream: bool = False, stream_cls: Any = None
    ) -> Any:
        call = guard.plan(options, cast_to)
        if call is None or not call.guardable:
            value = await original(cast_to, options, stream=stream, stream_cls=stream_cls)
            _untouched(call)
            return value
        guarded = GuardedCall(guard, call, options, cast_to, stream)
        reply_type = guarded.reply_type(AsyncAPIResponse)

        async def send(effect: Send[BodyCall]) -> Sent[Any]:
            exchange, send_options = guarded.exchange(effect)
            try:
                reply = await original(
                    reply_type, send_options, stream=stream, stream_cls=stream_cls
                )
                return guarded.sent(await exchange.atake(reply))
            except Exception as error:  # noqa: BLE001  judged, then raised again unchanged
                return guarded.failed(error)

        served = await adrive(
            call, send, memo=guard.memo, policy=guard.policy, observer=guard.observer,
            timeout=guarded.timeout,
        )  # fmt: skip
        return guarded.finish(served)

    return request


def _untouched(call: BodyCall | None) -> None:
    """A call without a format: told, nothing else."""
    if call is not None:
        publish(Info(provider=call.provider, model=call.model, enforced=None, requests=1))
