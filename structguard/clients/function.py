"""
A function that takes the format as an argument, guarded: sync or async, plain or bound.

Result and prompt are left alone. Source: spec guard §2, the paragraph on `guarded`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import cast

from structguard.clients.function_call import FunctionCall, FunctionGuard, checked_signature
from structguard.clients.results import answers, at_once
from structguard.flow import Info, Send, Sent, Served, adrive, attach, drive, info_of, publish
from structguard.refusal import refusal_of, status_of

__all__ = ["FunctionGuard", "checked_signature", "guard_function", "is_guarded"]
_MARK = "__structguard__"


def guard_function(guard: FunctionGuard) -> Callable[..., object]:
    """The guarded twin of a function, sync or async as it is."""
    called = getattr(guard.function, "__call__", None)  # noqa: B004  of an object: is that async?
    is_async = any(map(inspect.iscoroutinefunction, (guard.function, called)))
    twin = _async_twin(guard) if is_async else _sync_twin(guard)
    setattr(twin, _MARK, True)
    return twin


def _sync_twin(guard: FunctionGuard) -> Callable[..., object]:
    function = guard.function

    @functools.wraps(function)
    def guarded(*args: object, **kwargs: object) -> object:
        call = guard.plan(args, kwargs)
        if not call.guardable:
            return _untouched(call, function(*args, **kwargs))
        guarded_call = _GuardedCall(call)

        def send(effect: Send[FunctionCall]) -> Sent[object]:
            bound = guarded_call.bound(effect)
            try:
                return guarded_call.sent(at_once(function(*bound.args, **bound.kwargs)))
            except Exception as error:  # noqa: BLE001  judged, then raised again unchanged
                return guarded_call.failed(error, effect.call)

        return guarded_call.finish(
            drive(
                call,
                send,
                memo=guard.memo,
                policy=guard.policy,
                observer=guard.observer,
                timeout=call.timeout,
            )
        )

    return guarded


def _async_twin(guard: FunctionGuard) -> Callable[..., object]:
    function = cast("Callable[..., Awaitable[object]]", guard.function)

    @functools.wraps(function)
    async def guarded(*args: object, **kwargs: object) -> object:
        call = guard.plan(args, kwargs)
        if not call.guardable:
            return _untouched(call, await function(*args, **kwargs))
        guarded_call = _GuardedCall(call)

        async def send(effect: Send[FunctionCall]) -> Sent[object]:
            bound = guarded_call.bound(effect)
            try:
                return guarded_call.sent(await function(*bound.args, **bound.kwargs))
            except Exception as error:  # noqa: BLE001  judged, then raised again unchanged
                return guarded_call.failed(error, effect.call)

        return guarded_call.finish(
            await adrive(
                call,
                send,
                memo=guard.memo,
                policy=guard.policy,
                observer=guard.observer,
                timeout=call.timeout,
            )
        )

    return guarded


class _GuardedCall:
    """One call of a guarded function: what its one or two sends have in common."""

    def __init__(self, call: FunctionCall) -> None:
        self.call = call
        self.clock = call.guard.clock
        self.deadline = None if call.timeout is None else self.clock() + call.timeout

    def bound(self, effect: Send[FunctionCall]) -> inspect.BoundArguments:
        """The arguments of one send."""
        return effect.call.within(effect.budget).bound

    def sent(self, value: object) -> Sent[object]:
        """A send that came back."""
        return Sent(value=value, status=200, answered=answers(value))

    def failed(self, error: Exception, call: FunctionCall) -> Sent[object]:
        """A send of `call` that failed, judged by what the first send carried."""
        policy = self.call.guard.policy
        refusal = refusal_of(
            error,
            facts=self.call.facts,
            unnamed=policy.unnamed,
            also_statuses=policy.also_statuses,
            anew=call is not self.call,
        )
        left = None if self.deadline is None else self.deadline - self.clock()
        return Sent(
            error=error,
            refusal=refusal,
            status=status_of(error),
            left=left,
        )

    def finish(self, served: Served[object]) -> object:
        """Tell how it was served and hand the value on, untouched."""
        info = info_of(self.call.pair, served)
        attach(served.value, info)
        publish(info)
        return served.value


def _untouched(call: FunctionCall, value: object) -> object:
    """A call without a format: told, nothing else."""
    publish(Info(provider=call.guard.provider, model=call.name, enforced=None, requests=1))
    return value


def is_guarded(function: object) -> bool:
    """Whether a function is guarded already."""
    return getattr(function, _MARK, False) is True
