"""
The two drivers of the flow: they touch the store and the clock; a face only sends.

The store is read in a worker thread on the async side and in the calling thread on the sync side.
Source: DESIGN "One algorithm, several drivers".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from structguard.events import Observer
from structguard.flow.algorithm import (
    Call,
    Forget,
    Lease,
    Remember,
    Send,
    Sent,
    Served,
    guarded_flow,
)
from structguard.memo import Memo
from structguard.options import Policy

C = TypeVar("C", bound=Call)
T = TypeVar("T")

LEASE_MARGIN, LEASE_CAP = 5.0, 120.0  # seconds beyond the request's time-out; at most


def lease_seconds(timeout: float | None) -> float:
    """How long a probe may hold its lease: the request's time-out + 5 s, at most 120 s."""
    return LEASE_CAP if timeout is None else min(timeout + LEASE_MARGIN, LEASE_CAP)


def drive(
    call: C,
    send: Callable[[Send[C]], Sent[T]],
    *,
    memo: Memo,
    policy: Policy,
    observer: Observer,
    timeout: float | None = None,
) -> Served[T]:
    """Run one call in this thread."""
    if call.guardable and memo.stale():
        memo.refresh()
    flow = guarded_flow(call, memo, policy, observer, _typed(send))
    result: object = None
    try:
        while True:
            match flow.send(result):
                case Send() as effect:
                    result = send(effect)
                case Remember(entry):
                    result = memo.remember(entry)
                case Lease(entry):
                    result = memo.lease(entry, lease_seconds(timeout))
                case Forget(entry):
                    memo.clear(entry)
                    result = None
    except StopIteration as stop:
        served: Served[T] = stop.value
        return served


async def adrive(
    call: C,
    send: Callable[[Send[C]], Awaitable[Sent[T]]],
    *,
    memo: Memo,
    policy: Policy,
    observer: Observer,
    timeout: float | None = None,  # noqa: ASYNC109  a fact for the lease, not a time-out of ours
) -> Served[T]:
    """Run one call on the event loop."""
    if call.guardable and memo.stale():
        await memo.arefresh()
    flow = guarded_flow(call, memo, policy, observer, _atyped(send))
    result: object = None
    try:
        while True:
            match flow.send(result):
                case Send() as effect:
                    result = await send(effect)
                case Remember(entry):
                    result = await memo.aremember(entry)
                case Lease(entry):
                    result = await memo.alease(entry, lease_seconds(timeout))
                case Forget(entry):
                    await memo.aclear(entry)
                    result = None
    except StopIteration as stop:
        served: Served[T] = stop.value
        return served


def _typed(_send: Callable[[Send[C]], Sent[T]]) -> type[T] | None:
    """Tell the type checkers what the flow returns."""
    return None


def _atyped(_send: Callable[[Send[C]], Awaitable[Sent[T]]]) -> type[T] | None:
    return None
