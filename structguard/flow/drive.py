"""
The two drivers of the flow: they touch the store and the clock; a face only sends.

The store is read in a worker thread on the async side and in the calling thread on the sync side.
Source: DESIGN "One algorithm, several drivers".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeVar, cast

from structguard.events import Observer
from structguard.flow.algorithm import (
    Call,
    Effect,
    Flow,
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
    if call.guardable and policy.mode != "off" and memo.stale():
        memo.refresh()
    flow: Flow[C, T] = guarded_flow(call, memo, policy, observer)
    result: object = None
    try:
        while True:
            step = _step(flow, result)
            if isinstance(step, Served):
                return step
            result = send(step) if isinstance(step, Send) else _do(step, memo, timeout)
    except Exception as error:
        result = None
        _let_go(error)
        raise


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
    if call.guardable and policy.mode != "off" and memo.stale():
        await memo.arefresh()
    flow: Flow[C, T] = guarded_flow(call, memo, policy, observer)
    result: object = None
    try:
        while True:
            step = _step(flow, result)
            if isinstance(step, Served):
                return step
            if isinstance(step, Send):
                result = await send(step)
            else:
                result = await _ado(step, memo, timeout)
    except Exception as error:
        result = None
        _let_go(error)
        raise


def _step(flow: Flow[C, T], result: object) -> Effect[C] | Served[T]:
    """
    The flow's next effect, or its outcome.

    A generator cannot raise a StopIteration, Python makes it a RuntimeError: a guarded function's
    own one is given back here.
    """
    try:
        return flow.send(result)
    except StopIteration as stop:
        served: Served[T] = stop.value
        return served
    except RuntimeError as error:
        stopped = error.__cause__
        if not (isinstance(stopped, StopIteration) and isinstance(result, Sent)):
            raise
        if cast("Sent[T]", result).error is not stopped:
            raise
    raise stopped from stopped.__cause__


def _do(effect: Lease | Remember | Forget, memo: Memo, timeout: float | None) -> bool | None:
    match effect:
        case Remember(entry):
            return memo.remember(entry)
        case Lease(entry):
            return memo.lease(entry, lease_seconds(timeout))
        case Forget(entry):
            memo.clear(entry)
            return None


async def _ado(
    effect: Lease | Remember | Forget,
    memo: Memo,
    timeout: float | None,  # noqa: ASYNC109
) -> bool | None:
    match effect:
        case Remember(entry):
            return await memo.aremember(entry)
        case Lease(entry):
            return await memo.alease(entry, lease_seconds(timeout))
        case Forget(entry):
            await memo.aclear(entry)
            return None


def _let_go(error: Exception) -> None:
    """
    Clear the flow's own frames, which hold the error that holds them: else a failed call's whole
    request stays in memory until the collector comes by.
    """
    own = {function.__code__.co_filename for function in (guarded_flow, _step)}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in own:
            with suppress(RuntimeError):  # a driver's or another thread's: it is still running
                trace.tb_frame.clear()
        trace = trace.tb_next
